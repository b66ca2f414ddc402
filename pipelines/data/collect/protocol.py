"""uvicorn's HTTP parser, with bounds on a request's head and without upgrades to other protocols."""

import asyncio
import re
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

MAX_HEAD_BYTES = 64 * 1024
_UPGRADE = re.compile(rb"\A([^\r\n]*\r\n(?:[^\r\n]+\r\n)*?)upgrade:", re.IGNORECASE)


def without_upgrade(head: bytes) -> bytes:
    """The bytes of a request's head with its Upgrade header made harmless.

    A client that offers HTTP/2 this way (Java's, by default) is content with an answer in HTTP/1.1
    (RFC 9110, section 7.8), but the parser would drop the request's body.
    """
    end = head.find(b"\r\n\r\n")  # a body behind it is long
    if head.find(b"pgrade", 0, end) < 0 and head.find(b"PGRADE", 0, end) < 0:
        return head
    return _UPGRADE.sub(rb"\1x-ignored-upgrade:", head, count=1)


def bounded_protocol(head_timeout: float) -> type[HttpToolsProtocol]:
    """A protocol class that ends connections whose head is too large (431) or too slow (408, in seconds)."""

    class BoundedProtocol(HttpToolsProtocol):
        _head_bytes = 0
        _in_head = False
        _in_body = False
        _deadline: asyncio.TimerHandle | None = None

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._set_deadline()

        def connection_lost(self, exc: Exception | None) -> None:
            self._clear_deadline()
            super().connection_lost(exc)

        def on_message_begin(self) -> None:
            self._in_head, self._head_bytes = True, 0
            super().on_message_begin()

        def on_headers_complete(self) -> None:
            self._in_head, self._in_body = False, True
            self._clear_deadline()
            super().on_headers_complete()

        def on_message_complete(self) -> None:
            self._in_body = False
            super().on_message_complete()

        def data_received(self, data: bytes) -> None:
            super().data_received(data if self._in_body else without_upgrade(data))
            if not self._in_head:
                return
            self._head_bytes += len(data)
            if self._head_bytes > MAX_HEAD_BYTES:
                self._refuse(b"431 Request Header Fields Too Large")
            elif self._deadline is None and not self.transport.is_closing():
                self._set_deadline()

        def _set_deadline(self) -> None:
            self._deadline = self.loop.call_later(head_timeout, self._refuse, b"408 Request Timeout")

        def _clear_deadline(self) -> None:
            if self._deadline is not None:
                self._deadline.cancel()
                self._deadline = None

        def _refuse(self, status: bytes) -> None:
            self._clear_deadline()
            if not self.transport.is_closing():
                head = b"HTTP/1.1 " + status + b"\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
                self.transport.write(head)
                self.transport.close()

    return BoundedProtocol
