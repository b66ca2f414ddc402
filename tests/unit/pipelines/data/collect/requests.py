"""collect's application on the test's event loop, with configuration and records in memory."""

import asyncio
from collections.abc import Iterable, MutableMapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from pipelines.data.collect.app import CollectApp
from pipelines.data.collect.bodies.body import BodyReader, no_memory_left
from pipelines.data.collect.handler import EventsHandler
from pipelines.data.collect.key_usage import KeyUsage
from pipelines.data.collect.metrics import CollectMetrics
from pipelines.data.collect.parsing.content_types import Format
from pipelines.data.collect.rate_limiter import RateLimiter
from pipelines.data.collect.readiness import Readiness
from shared.contracts.documents import Catalogue, Entry, Source, sealed
from shared.contracts.limits import MAX_BODY_BYTES
from shared.contracts.publish_plan import document_key
from shared.kafka.producer import AwaitedProducer
from shared.runtime.body_budget import BodyBudget
from shared.runtime.http_protocol import ABORT

KEY = "a-write-key"


@dataclass
class Written:
    """Stands for the producer: every record is acknowledged at once."""

    stalled: bool = False
    records: list[bytes] = field(default_factory=list)

    async def send(self, _topic: object, values: Iterable[bytes], _headers: object) -> None:
        self.records += values


@dataclass
class Config:
    view: Catalogue
    loaded: bool = True


def collect(*, rate_limit: float | None = None, max_requests: int = 100) -> CollectApp:
    """The application with one source, on a clock that stands still."""
    source = Source(name="players", tenant="acme", write_keys=[KEY], rate_limit=rate_limit)
    entries = {document_key(source): Entry(version=1, document=sealed(source))}
    config, metrics = Config(Catalogue(entries)), CollectMetrics()
    producer = cast(AwaitedProducer, Written())
    handler = EventsHandler(
        config=config,
        producer=producer,
        keys=KeyUsage(),
        limiter=RateLimiter(lambda: 0.0),
        metrics=metrics,
        clock=lambda: 1_795_255_200_123,
        new_id=lambda: "new-id",
        bodies=BodyReader(
            limit=MAX_BODY_BYTES, seconds=30, budget=BodyBudget(8 * MAX_BODY_BYTES, no_memory_left)
        ),
    )
    return CollectApp(handler, Readiness(config, producer), metrics, max_requests, None)


@dataclass
class Request:
    """A client's request; the test decides when it sends the body."""

    content_type: str = Format.BATCH.value
    status: int | None = None
    body: bytes = b""
    takes: asyncio.Event | None = None
    """Set once the client reads its answer; None if it reads at once."""

    dropped: bool = False
    _pieces: asyncio.Queue[dict[str, Any]] = field(default_factory=asyncio.Queue)

    def send(self, piece: bytes, *, more: bool) -> None:
        self._pieces.put_nowait({"type": "http.request", "body": piece, "more_body": more})

    async def run(self, app: CollectApp) -> None:
        """Run the request; returns when it is answered."""
        headers = ((b"authorization", f"Bearer {KEY}"), (b"content-type", self.content_type))
        scope = {
            "type": "http",
            "path": "/v1/events",
            "method": "POST",
            "headers": [(name, value.encode()) for name, value in headers],
            "extensions": {ABORT: self._drop},
        }
        await app(scope, self._pieces.get, self._answer)

    async def _answer(self, message: MutableMapping[str, Any]) -> None:
        self.status = message.get("status", self.status)
        self.body += message.get("body", b"")
        if self.takes is not None and message.get("body"):
            await self.takes.wait()

    def _drop(self) -> None:
        self.dropped = True


async def post(app: CollectApp, body: bytes, content_type: str = Format.BATCH.value) -> Request:
    """A request that sends its whole body at once, with its answer."""
    request = Request(content_type)
    request.send(body, more=False)
    await request.run(app)
    return request


def statuses(requests: Sequence[Request]) -> list[int | None]:
    return [request.status for request in requests]
