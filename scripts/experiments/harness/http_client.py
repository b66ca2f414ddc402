"""A minimal HTTP/1.1 client, cheap in CPU: keep-alive connections, one request at a time on each."""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import cast

OnAnswer = Callable[[int | None], None]
"""Called with the status of a request; None if the connection ended before the response."""

_HEAD_END = b"\r\n\r\n"
_LENGTH = b"\r\ncontent-length:"


class Connection(asyncio.Protocol):
    """One connection. It returns to its pool when it is free, and leaves it when it closes."""

    def __init__(self, pool: "ConnectionPool") -> None:
        self._pool = pool
        self._buffer = b""
        self._on_answer: OnAnswer | None = None
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Report to the pool, which may have a request waiting."""
        self._transport = cast(asyncio.Transport, transport)  # uvloop's class does not inherit from it
        self._pool.freed(self)

    def send(self, request: bytes, on_answer: OnAnswer) -> None:
        """Send a whole request. Only on a free connection."""
        assert self._transport is not None
        self._on_answer = on_answer
        self._transport.write(request)

    def close(self) -> None:
        """Close the connection."""
        if self._transport:
            self._transport.close()

    def data_received(self, data: bytes) -> None:
        """Buffer a response; when it is complete, report it and become free."""
        self._buffer += data
        answered = complete(self._buffer)
        if answered is None or self._on_answer is None:
            return
        self._buffer = b""
        report, self._on_answer = self._on_answer, None
        report(answered)
        self._pool.freed(self)

    def connection_lost(self, exc: Exception | None) -> None:
        """Report the open request as unanswered."""
        del exc
        report, self._on_answer = self._on_answer, None
        if report:
            report(None)
        self._pool.lost(self)


def complete(buffer: bytes) -> int | None:
    """The status of a complete response, otherwise None. A body must have a content-length."""
    head_end = buffer.find(_HEAD_END)
    if head_end < 0:
        return None
    head = buffer[: head_end + 2].lower()
    at = head.find(_LENGTH)
    length = int(head[at + len(_LENGTH) : head.index(b"\r\n", at + 2)]) if at >= 0 else 0
    if len(buffer) < head_end + len(_HEAD_END) + length:
        return None
    return int(buffer[9:12])


class ConnectionPool:
    """Opens up to `most` connections on demand; further requests wait in order."""

    def __init__(self, host: str, port: int, most: int) -> None:
        self._host, self._port, self._most = host, port, most
        self._free: list[Connection] = []
        self._open = 0
        self._waiting: deque[tuple[bytes, OnAnswer]] = deque()
        self._tasks: set[asyncio.Task[None]] = set()

    def send(self, request: bytes, on_answer: OnAnswer) -> None:
        """Send a request now, or as soon as a connection is free."""
        if self._free:
            self._free.pop().send(request, on_answer)
            return
        self._waiting.append((request, on_answer))
        if self._open < self._most:
            self._open += 1
            task = asyncio.get_running_loop().create_task(self._connect())
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _connect(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            await loop.create_connection(lambda: Connection(self), self._host, self._port)
        except OSError:
            self._open -= 1
            if self._waiting:
                self._waiting.popleft()[1](None)

    def freed(self, connection: Connection) -> None:
        """Give a free connection its next request, or keep it."""
        if self._waiting:
            connection.send(*self._waiting.popleft())
        else:
            self._free.append(connection)

    def lost(self, connection: Connection) -> None:
        """Forget a closed connection."""
        self._open -= 1
        if connection in self._free:
            self._free.remove(connection)

    def close(self) -> None:
        """Close all free connections."""
        for connection in list(self._free):
            connection.close()
