"""uvicorn's HTTP/1.1 protocol with bounds on everything that is not a body: heads, trailers, chunk framing.

The parser keeps names and values until a header is complete, and uvicorn keeps headers until the request
ends, trailers included. Without bounds one connection could fill the memory before any key is looked at.
"""

import asyncio
from typing import Any, Final

from shared.runtime.pipelined_requests import PipelineBoundedProtocol, WaitingCount
from shared.runtime.upgrade_offers import KEPT_BYTES, without_upgrade

MAX_HEAD_BYTES: Final = 64 * 1024
"""Request line and headers of one request; as many again for its trailers and chunk framing."""

MAX_HEADERS: Final = 128
"""Headers and trailers of one request."""

MAX_FRAMING_PER_CHUNK: Final = 64
"""Bytes of size line and extensions that each chunk adds to what framing may take."""

ABORT: Final = "hifi.abort"
"""Among the extensions of a scope: a function that drops the connection, whatever is still to be sent."""

_TOO_LARGE: Final = b"431 Request Header Fields Too Large"
_TOO_SLOW: Final = b"408 Request Timeout"


class HeadTooLargeError(Exception):
    """Headers or trailers of a request exceed their bounds."""


class UpgradeError(Exception):
    """A request asks to leave HTTP/1.1: the parser takes what follows its head for the other protocol."""


class BoundedProtocol(PipelineBoundedProtocol):
    """Ends a connection with a head or framing that is too large (431), or a head that is too slow (408)."""

    head_timeout: float
    """Seconds in which a head must be complete."""

    _parsed = 0
    """Bytes of names, values and the target seen so far in this request."""

    _fields = 0
    _framing = 0
    """Bytes of this request that were neither a body nor counted in `_parsed` yet."""

    _chunks = 0
    _body = 0
    _began = False
    """Whether a request began within the bytes that are being parsed."""

    _in_message = False
    _last_bytes = b""
    """The last bytes received, as many as matter if a head goes on in the next read."""

    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """See asyncio.Protocol."""
        super().connection_made(transport)
        self._set_deadline()

    def connection_lost(self, exc: Exception | None) -> None:
        """See asyncio.Protocol."""
        self._clear_deadline()
        super().connection_lost(exc)

    def on_message_begin(self) -> None:
        """Called by the parser, as all that begins with `on_`."""
        self._parsed = self._fields = self._framing = self._chunks = 0
        self._in_head = self._in_message = self._began = True
        super().on_message_begin()
        extensions: dict[str, Any] = {ABORT: self.drop}
        self.scope["extensions"] = extensions

    def on_url(self, url: bytes) -> None:
        """Part of the request target."""
        self._count(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """A complete header or trailer."""
        self._fields += 1
        self._count(len(name) + len(value))
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """The end of the head."""
        if self.parser.should_upgrade() and not self._should_upgrade():
            raise UpgradeError  # the parser stops, and uvicorn calls send_400_response
        self._in_head = False
        self._parsed = self._framing = 0  # trailers have bounds of their own
        self._clear_deadline()
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Part of the body."""
        self._body += len(body)
        super().on_body(body)

    def on_chunk_header(self) -> None:
        """The size line of a chunk."""
        self._chunks += 1

    def on_message_complete(self) -> None:
        """The end of the request."""
        self._in_message = False
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """Called by uvicorn: a head that was not read while requests waited gets its time from now on."""
        waited = bool(self.pipeline)
        super().on_response_complete()
        if waited and not self.pipeline and self._deadline is not None:
            self._clear_deadline()
            self._set_deadline()

    def data_received(self, data: bytes) -> None:
        """Parse what came in, then look at what of it was no body."""
        self._began, before = False, self._body
        super().data_received(self._without_upgrade(data))
        if not self._in_message or self.transport.is_closing():
            return
        if not self._began:  # bytes in which a request begins may belong to the one before
            self._framing += len(data) - (self._body - before)
        if self._framing > MAX_HEAD_BYTES + MAX_FRAMING_PER_CHUNK * self._chunks:
            self._refuse(_TOO_LARGE)
        elif self._in_head and self._deadline is None:
            self._set_deadline()

    def send_400_response(self, msg: str) -> None:
        """uvicorn's answer to what the parser refuses; ours where a bound was the reason."""
        if self._parsed > MAX_HEAD_BYTES or self._fields > MAX_HEADERS:
            self._refuse(_TOO_LARGE)
        elif self._owes_an_answer():
            self.drop()
        else:
            super().send_400_response(msg)

    def _without_upgrade(self, data: bytes) -> bytes:
        before = self._last_bytes if self._in_head else b""
        self._last_bytes = (before + data[-KEPT_BYTES:])[-KEPT_BYTES:]
        if self._in_message and not self._in_head:
            return data
        return without_upgrade(data, before=before, websockets=self._should_upgrade_to_ws())

    def _count(self, size: int) -> None:
        self._parsed += size
        if self._parsed > MAX_HEAD_BYTES or self._fields > MAX_HEADERS:
            raise HeadTooLargeError  # the parser stops, and uvicorn calls send_400_response

    def _owes_an_answer(self) -> bool:
        """Whether a request before this one has none yet: what is sent now would be taken for it."""
        if self._in_message and not self._in_head:
            return bool(self.pipeline)
        return self.cycle is not None and not self.cycle.response_complete

    def _set_deadline(self) -> None:
        self._deadline = self.loop.call_later(self.head_timeout, self._end_of_time)

    def _end_of_time(self) -> None:
        if self.pipeline:  # it is not read meanwhile
            self._set_deadline()
        else:
            self._refuse(_TOO_SLOW)

    def _clear_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _refuse(self, status: bytes) -> None:
        self._clear_deadline()
        if self.transport.is_closing():
            return
        if self._owes_an_answer():
            self.drop()
            return
        if self.cycle is None or self.cycle.response_complete or not self.cycle.response_started:
            head = b"HTTP/1.1 " + status + b"\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
            self.transport.write(head)
        self.transport.close()


def bounded_protocol(head_timeout: float) -> type[BoundedProtocol]:
    """The protocol class for one server, which gives clients `head_timeout` seconds for a request's head."""
    own = {"head_timeout": head_timeout, "waiting": WaitingCount()}
    return type("TimedProtocol", (BoundedProtocol,), own)
