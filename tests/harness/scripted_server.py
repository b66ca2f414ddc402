"""A destination that follows a script, on a real socket and an event loop of its own."""

import asyncio
import socket
import threading
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")
Manner = Callable[[bytes, asyncio.StreamWriter], Awaitable[None]]
"""Handles a request, given its body."""

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
"""Handles a connection."""


def reply(status: int, headers: str = "", body: str = "ok") -> bytes:
    """A plain HTTP response."""
    return f"HTTP/1.1 {status} X\r\nContent-Length: {len(body)}\r\n{headers}\r\n{body}".encode()


class Dialler(asyncio.SelectorEventLoop):
    """A loop that records the addresses to which its sockets connect."""

    def __init__(self) -> None:
        super().__init__()
        self.dialled: list[str] = []

    async def sock_connect(self, sock: socket.socket, address: Any) -> None:
        self.dialled.append(str(address[0]))
        await super().sock_connect(sock, address)


class Loop:
    """An event loop in a thread of its own, as a worker has."""

    def __init__(self) -> None:
        self.loop = Dialler()
        self._thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(120)

    def close(self) -> None:
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join()
        self.loop.close()


class Server:
    """Answers each request by the handler of its path; keeps heads and bodies."""

    def __init__(self, loop: Loop) -> None:
        self._loop = loop
        self.manners: dict[str, Manner] = {}
        self.bodies: list[bytes] = []
        self.heads: list[bytes] = []
        self.connections = 0
        self.open = 0
        """Connections that have not ended."""
        self._server = loop.run(asyncio.start_server(self.serve, "127.0.0.1", 0))
        self.port = int(self._server.sockets[0].getsockname()[1])

    def answer(self, path: str, *responses: bytes) -> None:
        """Give these responses in turn, then the last one again and again."""
        left = list(responses)

        async def manner(_: bytes, writer: asyncio.StreamWriter) -> None:
            writer.write(left.pop(0) if len(left) > 1 else left[0])

        self.manners[path] = manner

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection until it ends."""
        self.connections += 1
        self.open += 1
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                lines = dict(x.lower().split(b": ", 1) for x in head.split(b"\r\n")[1:] if b": " in x)
                body = await reader.readexactly(int(lines[b"content-length"]))
                self.heads.append(head)
                self.bodies.append(body)
                await self.manners[head.split()[1].decode()](body, writer)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass
        finally:
            self.open -= 1
            writer.transport.abort()

    def close(self) -> None:
        self._loop.run(closed(self._server))


async def closed(server: asyncio.Server) -> None:
    """Close a server and cancel every other task of its loop, such as open connections."""
    server.close()
    for task in asyncio.all_tasks() - {asyncio.current_task()}:
        task.cancel()
