"""The webhook connector keeps every connector's promises."""

import asyncio
from collections.abc import Iterator
from typing import Any, ClassVar

import msgspec
import pytest

from tests.contract.connectors.conformance import Conformance
from tests.contract.connectors.far import Far
from tests.contract.transmit_rig import Loop, Server, reply

pytestmark = pytest.mark.contract


class Item(msgspec.Struct):
    """What the far side looks at."""

    id: str


class Endpoint(Far):
    """An HTTP server that takes CloudEvents batches, each as a whole."""

    connector = "webhook"
    largest: ClassVar[int | None] = 200_000

    def __init__(self) -> None:
        self._loop = Loop()
        self._server = Server(self._loop)
        self._server.manners["/"] = self._answer
        self._received: list[str] = []
        self._refused: set[str] = set()
        self._failing: set[str] = set()
        self._throttled = self._losing = False

    async def _answer(self, body: bytes, writer: asyncio.StreamWriter) -> None:
        ids = {item.id for item in msgspec.json.decode(body, type=list[Item])}
        if self._losing:
            self._losing = False
            self._received += ids
            writer.transport.abort()
        else:
            status = self._status(body, ids)
            if status == 200:
                self._received += ids
            writer.write(reply(status))

    def _status(self, body: bytes, ids: set[str]) -> int:
        if self._throttled:
            return 429
        if len(body) > (self.largest or 0):
            return 413
        if ids & self._refused:
            return 400
        if ids & self._failing:
            self._failing -= ids
            return 503
        return 200

    def options(self, port: int | None = None) -> dict[str, Any]:
        return {"url": f"http://127.0.0.1:{port or self._server.port}/"}

    def received(self) -> list[str]:
        return list(self._received)

    def refuse(self, ids: set[str]) -> None:
        self._refused = ids

    def fail_once(self, ids: set[str]) -> None:
        self._failing = set(ids)

    def throttle(self) -> None:
        self._throttled = True

    def lose_answer_once(self) -> None:
        self._losing = True

    def requests(self) -> int:
        return len(self._server.bodies)

    def close(self) -> None:
        self._server.close()
        self._loop.close()


class TestWebhook(Conformance):
    @pytest.fixture
    def far(self) -> Iterator[Far]:
        endpoint = Endpoint()
        yield endpoint
        endpoint.close()
