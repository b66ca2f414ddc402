"""uvicorn's HTTP/1.1 protocol with bounds on the time of connections that send no request, or read no answer.

What a client does not read of an answer is kept, and a connection that is closed waits for it.
"""

import asyncio
from typing import Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

UNREAD_SECONDS: Final = 60.0
"""How long a client may read nothing of an answer that waits for it; then its connection is dropped.

It is long, because the kernel takes more only once the client has read a good part of what the kernel holds.
"""


class IdleBoundedProtocol(HttpToolsProtocol):
    """Ends a connection that is idle, whatever comes that is no request, and one whose answer is not read."""

    _in_head = False
    """Whether a request's head has begun to come, and is not complete."""

    _unread = 0
    """Bytes of answers that waited for the client when that was last looked at."""

    _unread_timer: asyncio.TimerHandle | None = None

    def connection_lost(self, exc: Exception | None) -> None:
        """See asyncio.Protocol."""
        self._forget_unread()
        super().connection_lost(exc)
        self._unset_keepalive_if_required()  # after a reset uvicorn's timer would keep all of it in memory

    def pause_writing(self) -> None:
        """See asyncio.Protocol: the client does not read what it was sent."""
        super().pause_writing()
        self._watch_unread()

    def resume_writing(self) -> None:
        """See asyncio.Protocol."""
        self._forget_unread()
        super().resume_writing()

    def data_received(self, data: bytes) -> None:
        """Parse what came in; only a new request, and no rest of an old one, ends the time of being idle."""
        idle, self.timeout_keep_alive_task = self.timeout_keep_alive_task, None
        super().data_received(data)
        if idle is None:
            return
        if self._in_head or not self.cycle.response_complete or self.transport.is_closing():
            idle.cancel()
        else:
            self.timeout_keep_alive_task = idle

    def on_response_complete(self) -> None:
        """Called by uvicorn: a connection that it closes now waits for what its client has not read."""
        super().on_response_complete()
        lost = self.parser is None
        if self.transport.is_closing() and not lost and self._unread_timer is None:
            self._watch_unread()

    def timeout_keep_alive_handler(self) -> None:
        """Called by uvicorn: no request came for a while. If an answer is not read, its client is dropped."""
        if self.transport.get_write_buffer_size():
            self.transport.abort()
        else:
            super().timeout_keep_alive_handler()

    def _watch_unread(self) -> None:
        self._unread = self.transport.get_write_buffer_size()
        self._unread_timer = self.loop.call_later(UNREAD_SECONDS, self._drop_unless_it_reads)

    def _drop_unless_it_reads(self) -> None:
        left = self.transport.get_write_buffer_size()
        if left >= self._unread > 0:
            self.transport.abort()
        elif left:
            self._watch_unread()

    def _forget_unread(self) -> None:
        if self._unread_timer is not None:
            self._unread_timer.cancel()
            self._unread_timer = None
