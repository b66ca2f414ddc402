"""HTTP far sides: they examine each request, and may forward it to another server."""

import asyncio
from abc import abstractmethod
from dataclasses import dataclass

import aiohttp

from tests.contract.connectors.far import Far
from tests.harness.scripted_server import Loop, Manner, Server, reply

KEPT = ("ETag", "Content-Type")
"""Response headers that are passed on."""


class Everywhere(dict[str, Manner]):
    """One handler for all paths."""

    def __init__(self, manner: Manner) -> None:
        super().__init__()
        self._manner = manner

    def __missing__(self, _: str) -> Manner:
        return self._manner


@dataclass(frozen=True)
class Asked:
    """A request that the server received."""

    head: bytes
    body: bytes

    @property
    def method(self) -> str:
        return self.head.split()[0].decode()

    @property
    def target(self) -> str:
        """Path and query."""
        return self.head.split()[1].decode()

    @property
    def headers(self) -> dict[str, str]:
        lines = (line.split(b": ", 1) for line in self.head.split(b"\r\n")[1:] if b": " in line)
        return {name.decode(): value.decode() for name, value in lines}


class ServerFar(Far):
    """A scripted HTTP server that refuses, fails, throttles and hangs up by the ids of events."""

    def __init__(self) -> None:
        self._loop = Loop()
        self._server = Server(self._loop)
        self._refused: set[str] = set()
        self._failing: set[str] = set()
        self._throttled = self._losing = False

    def refuse(self, ids: set[str]) -> None:
        self._refused = ids

    def fail_once(self, ids: set[str]) -> None:
        self._failing = set(ids)

    def throttle(self) -> None:
        self._throttled = True

    def lose_answer_once(self) -> None:
        self._losing = True

    def close(self) -> None:
        self._server.close()
        self._loop.close()


class HttpFar(ServerFar):
    """Gives each request to `take`, whatever its path."""

    def __init__(self) -> None:
        super().__init__()
        self._server.manners = Everywhere(self._manner)

    @property
    def port(self) -> int:
        return self._server.port

    @abstractmethod
    async def take(self, asked: Asked) -> bytes:
        """The response, as bytes."""

    async def _manner(self, body: bytes, writer: asyncio.StreamWriter) -> None:
        asked = Asked(self._server.heads[-1], body)
        losing, self._losing = self._losing, False
        response = await self.take(asked)
        if losing:
            writer.transport.abort()
        else:
            writer.write(response)

    def status_of(self, id_: str) -> int:
        """The status of an event."""
        if self._throttled:
            return 429
        if id_ in self._refused:
            return 400
        if id_ in self._failing:
            self._failing.discard(id_)
            return 503
        return 200

    async def forwarded(self, asked: Asked, url: str, body: bytes) -> bytes:
        """Forward the request; returns the other server's response."""
        headers = {k: v for k, v in asked.headers.items() if k.lower() != "content-length"}
        async with (
            aiohttp.ClientSession(auto_decompress=False) as session,
            session.request(asked.method, url + asked.target, data=body, headers=headers) as found,
        ):
            kept = "".join(
                f"{n}: {v}\r\n" for n, v in found.headers.items() if n.lower() in ("etag", "content-type")
            )
            return reply(found.status, kept, (await found.read()).decode("latin-1"))

    def requests(self) -> int:
        return len(self._server.bodies)
