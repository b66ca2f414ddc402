"""Handles a request to /v1/events: authenticate, read, validate, write to Kafka, respond."""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Final

from pipelines.data.collect.auth import authenticate
from pipelines.data.collect.bodies.body import BodyReader, Receive
from pipelines.data.collect.bodies.decompression import Decompressor, decompressor
from pipelines.data.collect.errors import RefusedError, unavailable, unread
from pipelines.data.collect.key_usage import KeyUsage
from pipelines.data.collect.metrics import CollectMetrics
from pipelines.data.collect.parsing.content_types import Format, parse_content_type, split
from pipelines.data.collect.parsing.events import read_event
from pipelines.data.collect.rate_limiter import RateLimiter
from pipelines.data.collect.readiness import ConfigView
from pipelines.data.collect.responses import Response, results_response
from shared.cloudevents.events import AcceptedEvent, RequestContext
from shared.cloudevents.refusal import Refusal
from shared.contracts import headers
from shared.contracts.documents import Source
from shared.contracts.envelope import encode_item, join_items
from shared.contracts.limits import CHUNK_BYTES
from shared.contracts.topics import Topic
from shared.kafka.producer import AwaitedProducer, NotWrittenError
from shared.runtime.clock import Clock

RequestHeaders = Mapping[bytes, bytes]
Results = Sequence[AcceptedEvent | Refusal]
_MEMBERS = frozenset(("$", "id", "source", "type", "specversion", "time", "data", "data_base64"))
_TURN_BYTES: Final = 64 * 1024
"""Bytes of events that are validated before other requests get a turn: about 1 ms of usual ones."""

_EVENT_BYTES: Final = 256
"""Bytes that each event counts for in a turn, beside its own."""

_FEW_EVENTS: Final = _TURN_BYTES // _EVENT_BYTES
"""Requests with more wait for each other: what is made of an event may take a hundred times its bytes."""

_COSTS_AN_EVENT: Final = frozenset((400, 408, 413))
"""Statuses of a request that is refused for its body."""

_RETRY_SECONDS = 2
_BRACKETS_BYTES = 2
_COMMA_BYTES = 1


@dataclass(frozen=True, kw_only=True, slots=True)
class EventsHandler:
    """Writes the events of requests to Kafka and responds once they are acknowledged."""

    config: ConfigView
    producer: AwaitedProducer
    keys: KeyUsage
    limiter: RateLimiter
    metrics: CollectMetrics
    clock: Clock
    new_id: Callable[[], str]
    bodies: BodyReader
    many: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Held while many events are validated; who waits for it holds no more than a body."""

    async def handle(self, request: RequestHeaders, receive: Receive) -> Response:
        """The response to one request.

        Raises:
            RefusedError: the request is refused as a whole.
            ClientGoneError: the client disconnected.
        """
        source, form, decoder = self._read_head(request)
        declared = request.get(b"content-length", b"").decode("latin-1")
        try:
            async with self.bodies.body(receive, decoder, declared) as body:
                return await self._process(source, form, body)
        except RefusedError as error:
            if error.status in _COSTS_AN_EVENT:
                self.limiter.charge((source.tenant, source.name), source.rate_limit, 1)
            raise

    async def _process(self, source: Source, form: Format, body: bytes) -> Response:
        context = RequestContext.at(self.clock(), source.name, self.new_id)
        self.metrics.body_bytes.inc(len(body))
        results = await self._validated(source, form, body, context)
        accepted = [result for result in results if isinstance(result, AcceptedEvent)]
        if accepted:
            await self._write(accepted, source, context)
        self._count(results, accepted)
        return results_response(results)

    async def _validated(self, source: Source, form: Format, body: bytes, context: RequestContext) -> Results:
        raws = split(form, body)
        self._limit(source, len(raws))
        if len(raws) <= _FEW_EVENTS:
            return await _validate(form, raws, context)
        del raws  # they are made again in a moment
        async with self.many:
            return await _validate(form, split(form, body), context)

    def _read_head(self, request: RequestHeaders) -> tuple[Source, Format, Decompressor]:
        """Check everything that can be checked before the body is read."""
        try:
            source = self._authorize(request)
            form = parse_content_type(request.get(b"content-type", b"").decode("latin-1"))
            return source, form, decompressor(request.get(b"content-encoding", b"").decode("latin-1"))
        except RefusedError as error:
            raise unread(error) from None

    def _authorize(self, request: RequestHeaders) -> Source:
        if not self.config.loaded:
            raise unavailable("the configuration is not loaded yet", _RETRY_SECONDS)
        source, digest = authenticate(request.get(b"authorization"), self.config.view)
        self.keys.note(source, digest, self.clock())
        self._limit(source, 0)
        if self.producer.stalled:
            raise unavailable("Kafka does not answer", _RETRY_SECONDS)
        return source

    def _limit(self, source: Source, events: int) -> None:
        seconds = self.limiter.retry_after((source.tenant, source.name), source.rate_limit, events)
        if seconds:
            raise RefusedError(
                429,
                Refusal(
                    f"source {source.name} is over its {source.rate_limit:g} events a second",
                    "rate_limit",
                    "send the same request again after the seconds in Retry-After",
                ),
                headers=(("retry-after", str(seconds)),),
            )

    async def _write(
        self, accepted: Sequence[AcceptedEvent], source: Source, context: RequestContext
    ) -> None:
        records = batch_records([encode_item(each.item) for each in accepted], CHUNK_BYTES)
        stamped = (
            (headers.TENANT, source.tenant.encode()),
            (headers.SOURCE, source.name.encode()),
            (headers.RECEIVED, b"%d" % context.received_ms),
        )
        began = perf_counter()
        try:
            await self.producer.send(Topic.COLLECTED, records, stamped)
        except NotWrittenError as error:
            reason = f"not confirmed, it may be written all the same: {error}"
            raise unavailable(reason, _RETRY_SECONDS) from error
        self.metrics.ack_seconds.observe(perf_counter() - began)

    def _count(self, results: Results, accepted: Sequence[AcceptedEvent]) -> None:
        self.metrics.events.inc(len(accepted))
        late = sum(each.late for each in accepted)
        if late:
            self.metrics.late.inc(late)
        if len(accepted) < len(results):
            for result in results:
                if isinstance(result, Refusal):
                    self.metrics.refused.labels(_label(result.field)).inc()


async def _validate(form: Format, raws: Sequence[bytes], context: RequestContext) -> Results:
    results: list[AcceptedEvent | Refusal] = []
    room = _TURN_BYTES
    for raw in raws:
        if room <= 0:
            await asyncio.sleep(0)
            room = _TURN_BYTES
        results.append(read_event(form, raw, context))
        room -= len(raw) + _EVENT_BYTES
    return results


def _label(field: str) -> str:
    """A field as a metric's label; all extension attributes share one."""
    return field if field in _MEMBERS else "attribute"


def batch_records(encoded: Iterable[bytes], limit: int) -> Iterator[bytes]:
    """Pack items into as few `collected` records as their size allows: one acknowledgement covers many items.

    Args:
        encoded: the items, in order.
        limit: bytes of a record's value; a larger item gets a record of its own.
    """
    held: list[bytes] = []
    size = _BRACKETS_BYTES
    for item in encoded:
        if held and size + len(item) + _COMMA_BYTES > limit:
            yield join_items(held)
            held, size = [], _BRACKETS_BYTES
        held.append(item)
        size += len(item) + _COMMA_BYTES
    if held:
        yield join_items(held)
