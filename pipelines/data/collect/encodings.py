"""Content encodings, undone piece by piece under a limit on what comes out."""

import zlib
from collections.abc import Callable
from typing import Protocol

import zstandard

from pipelines.data.collect.refusal import Refusal, RefusedError, malformed

_FIELD = "content-encoding"
_GZIP_WINDOW = 16 + zlib.MAX_WBITS
_ZSTD_WINDOW = 8 * 1024 * 1024  # what RFC 9659 lets a sender of content-encoding zstd use
_ZSTD_SLICE = 256  # bytes; a block of 4 can become 128 KiB, so a slice never becomes more than 8 MiB


class Inflater(Protocol):
    """Takes a body's pieces, gives what they decode to."""

    def feed(self, piece: bytes, room: int) -> bytes:
        """Decode a piece; more than `room` bytes come out only as a sign that there is too much.

        Raises:
            RefusedError: the piece is not of this encoding, or follows the end.
        """

    def finish(self) -> None:
        """Say that there are no more pieces.

        Raises:
            RefusedError: the encoding wants more.
        """


class Identity:
    """No encoding."""

    def feed(self, piece: bytes, room: int) -> bytes:  # noqa: ARG002 - the caller sees the size
        """The piece itself."""
        return piece

    def finish(self) -> None:
        """Any length will do."""


class Gzip:
    """One gzip member (RFC 1952)."""

    def __init__(self) -> None:
        self._stream = zlib.decompressobj(_GZIP_WINDOW)

    def feed(self, piece: bytes, room: int) -> bytes:
        """See `Inflater.feed`."""
        try:
            out = self._stream.decompress(piece, room + 1)
        except zlib.error as error:
            raise _broken("gzip", str(error)) from error
        if self._stream.unused_data:
            raise _trailing("gzip")
        return out

    def finish(self) -> None:
        """See `Inflater.finish`."""
        if not self._stream.eof:
            raise _truncated("gzip")


class Zstd:
    """One Zstandard frame (RFC 8878)."""

    def __init__(self) -> None:
        self._stream = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW).decompressobj()

    def feed(self, piece: bytes, room: int) -> bytes:
        """See `Inflater.feed`. In slices, because the library cannot bound what one call gives."""
        out, size = [], 0
        for start in range(0, len(piece), _ZSTD_SLICE):
            if self._stream.eof:
                raise _trailing("zstd")
            out.append(self._slice(piece[start : start + _ZSTD_SLICE]))
            size += len(out[-1])
            if size > room:
                break
        return b"".join(out)

    def finish(self) -> None:
        """See `Inflater.finish`."""
        if not self._stream.eof:
            raise _truncated("zstd")

    def _slice(self, piece: bytes) -> bytes:
        try:
            out = self._stream.decompress(piece)
        except zstandard.ZstdError as error:
            raise _broken("zstd", str(error)) from error
        if self._stream.unused_data:
            raise _trailing("zstd")
        return out


_ENCODINGS: dict[str, Callable[[], Inflater]] = {
    "": Identity,
    "identity": Identity,
    "gzip": Gzip,
    "x-gzip": Gzip,
    "zstd": Zstd,
}


def inflater(content_encoding: str) -> Inflater:
    """The decoder that a `Content-Encoding` header asks for.

    Raises:
        RefusedError: 415, it is none of ours.
    """
    make = _ENCODINGS.get(content_encoding.strip().lower())
    if make is None:
        refusal = Refusal(
            f"content encoding {content_encoding!r} is not known", _FIELD, "use gzip, zstd or no encoding"
        )
        raise RefusedError(415, refusal, headers=(("accept-encoding", "gzip, zstd"),))
    return make()


def _broken(name: str, detail: str) -> RefusedError:
    return malformed(f"the body is not valid {name}: {detail}", "compress the whole body once", _FIELD)


def _truncated(name: str) -> RefusedError:
    return malformed(f"the {name} body is truncated", "send the compressed body to its end", _FIELD)


def _trailing(name: str) -> RefusedError:
    return malformed(
        f"something follows the end of the {name} data", "send one member, and nothing after it", _FIELD
    )
