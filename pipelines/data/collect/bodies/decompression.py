"""Decompresses request bodies in slices: the caller bounds the size and may pause between slices."""

import zlib
from collections.abc import Callable, Iterator
from typing import Final, Protocol

import zstandard

from pipelines.data.collect.errors import RefusedError, malformed
from shared.cloudevents.refusal import Refusal

_FIELD = "content-encoding"
_GZIP_WINDOW = 16 + zlib.MAX_WBITS
_ZSTD_WINDOW = 8 * 1024 * 1024  # what RFC 9659 lets a sender of content-encoding zstd use
_GZIP_SLICE: Final = 256 * 1024  # bytes of output per slice
_ZSTD_SLICE = 256  # bytes; a block of 4 can become 128 KiB, so a slice never becomes more than 8 MiB


class Decompressor(Protocol):
    """Decompresses a body piece by piece."""

    def feed(self, piece: bytes) -> Iterator[bytes]:
        """Decompress a piece, slice by slice; the caller may stop early.

        Raises:
            RefusedError: 400, the piece is not of this encoding, or follows its end.
        """

    def finish(self) -> None:
        """Check that the last piece completed the encoding.

        Raises:
            RefusedError: 400, the body is truncated.
        """


class Identity:
    """No encoding."""

    def feed(self, piece: bytes) -> Iterator[bytes]:
        """The piece itself."""
        yield piece

    def finish(self) -> None:
        """Every length is complete."""


class Gzip:
    """One gzip member (RFC 1952)."""

    def __init__(self) -> None:
        self._stream = zlib.decompressobj(_GZIP_WINDOW)

    def feed(self, piece: bytes) -> Iterator[bytes]:
        """See `Decompressor.feed`."""
        while piece:
            yield self._slice(piece)
            piece = self._stream.unconsumed_tail

    def _slice(self, piece: bytes) -> bytes:
        try:
            out = self._stream.decompress(piece, _GZIP_SLICE)
        except zlib.error as error:
            raise _broken("gzip", str(error)) from error
        if self._stream.unused_data:
            raise _trailing("gzip")
        return out

    def finish(self) -> None:
        """See `Decompressor.finish`."""
        if not self._stream.eof:
            raise _truncated("gzip")


class Zstd:
    """One Zstandard frame (RFC 8878)."""

    def __init__(self) -> None:
        self._stream = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW).decompressobj()

    def feed(self, piece: bytes) -> Iterator[bytes]:
        """See `Decompressor.feed`. The library cannot bound a call's output, so its input is sliced."""
        for start in range(0, len(piece), _ZSTD_SLICE):
            if self._stream.eof:
                raise _trailing("zstd")
            yield self._slice(piece[start : start + _ZSTD_SLICE])

    def finish(self) -> None:
        """See `Decompressor.finish`."""
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


_ENCODINGS: dict[str, Callable[[], Decompressor]] = {
    "": Identity,
    "identity": Identity,
    "gzip": Gzip,
    "x-gzip": Gzip,
    "zstd": Zstd,
}


def decompressor(content_encoding: str) -> Decompressor:
    """The decompressor for a `Content-Encoding` header.

    Raises:
        RefusedError: 415, it is not supported.
    """
    make = _ENCODINGS.get(content_encoding.strip().lower())
    if make is None:
        refusal = Refusal(
            f"content encoding {content_encoding!r} is not supported", _FIELD, "use gzip, zstd or no encoding"
        )
        raise RefusedError(415, refusal, headers=(("accept-encoding", "gzip, zstd"),))
    return make()


def _broken(name: str, detail: str) -> RefusedError:
    return malformed(f"the body is not valid {name}: {detail}", "compress the whole body once", _FIELD)


def _truncated(name: str) -> RefusedError:
    return malformed(f"the {name} body is truncated", "send the compressed body to its end", _FIELD)


def _trailing(name: str) -> RefusedError:
    return malformed(
        f"data follows the end of the {name} stream",
        "send a single stream and nothing after it",
        _FIELD,
    )
