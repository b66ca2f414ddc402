"""One request to /v1/events from its head to its reply."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter

from pipelines.data.collect.auth import authenticate
from pipelines.data.collect.body import BodyReader, Receive
from pipelines.data.collect.config_view import Documents
from pipelines.data.collect.content_types import Format, parse_content_type, split
from pipelines.data.collect.decompression import Inflater, inflater
from pipelines.data.collect.errors import Refusal, RefusedError, unavailable, unread
from pipelines.data.collect.events import Intake, Taken, read
from pipelines.data.collect.metrics import Meters
from pipelines.data.collect.rate_limiter import RateLimiter
from pipelines.data.collect.record_batching import chunks
from pipelines.data.collect.responses import Reply, reply_results
from shared.contracts import headers
from shared.contracts.documents import Source
from shared.contracts.envelope import encode_item
from shared.contracts.limits import CHUNK_BYTES
from shared.contracts.topics import Topic
from shared.kafka.producer import AwaitedProducer, NotWrittenError
from shared.runtime.clock import Clock

RequestHeaders = Mapping[bytes, bytes]
_MEMBERS = frozenset(("$", "id", "source", "type", "specversion", "time", "data", "data_base64"))
_BREATH = 250  # events judged before other requests get a turn: about 2 ms
_RETRY_SECONDS = 2


@dataclass(frozen=True, kw_only=True, slots=True)
class EventIntake:
    """Takes the events of requests, and answers only when Kafka confirmed them."""

    documents: Documents
    producer: AwaitedProducer
    limiter: RateLimiter
    meters: Meters
    clock: Clock
    new_id: Callable[[], str]
    bodies: BodyReader

    async def handle(self, request: RequestHeaders, receive: Receive) -> Reply:
        """The reply to one request.

        Raises:
            RefusedError: the request is refused as a whole.
            ClientGoneError: there is nobody to answer.
        """
        source, form, decoder = self._read_head(request)
        declared = request.get(b"content-length", b"").decode("latin-1")
        async with self.bodies.body(receive, decoder, declared) as body:
            return await self._take(source, form, body)

    async def _take(self, source: Source, form: Format, body: bytes) -> Reply:
        at = Intake.at(self.clock(), source.name, self.new_id)
        self.meters.body_bytes.inc(len(body))
        raws = split(form, body)
        self._limit(source, len(raws))
        results = await _judge(form, raws, at)
        taken = [result for result in results if isinstance(result, Taken)]
        if taken:
            await self._write(taken, source, at)
        self._count(results, taken)
        return reply_results(results)

    def _read_head(self, request: RequestHeaders) -> tuple[Source, Format, Inflater]:
        """Everything that can be said before the body is read."""
        try:
            source = self._admit(request)
            form = parse_content_type(request.get(b"content-type", b"").decode("latin-1"))
            return source, form, inflater(request.get(b"content-encoding", b"").decode("latin-1"))
        except RefusedError as error:
            raise unread(error) from None

    def _admit(self, request: RequestHeaders) -> Source:
        if not self.documents.loaded:
            raise unavailable("the configuration is not loaded yet", _RETRY_SECONDS)
        source = authenticate(request.get(b"authorization"), self.documents.view)
        self._limit(source, 0)
        if self.producer.stalled:
            raise unavailable("the event log does not answer", _RETRY_SECONDS)
        return source

    def _limit(self, source: Source, events: int) -> None:
        seconds = self.limiter.retry_after(source.name, source.rate_limit, events)
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

    async def _write(self, taken: Sequence[Taken], source: Source, at: Intake) -> None:
        records = chunks([encode_item(each.item) for each in taken], CHUNK_BYTES)
        stamped = (
            (headers.TENANT, source.tenant.encode()),
            (headers.SOURCE, source.name.encode()),
            (headers.RECEIVED, b"%d" % at.received_ms),
        )
        began = perf_counter()
        try:
            await self.producer.send(Topic.COLLECTED, records, stamped)
        except NotWrittenError as error:
            reason = f"not confirmed, it may be written all the same: {error}"
            raise unavailable(reason, _RETRY_SECONDS) from error
        self.meters.ack_seconds.observe(perf_counter() - began)

    def _count(self, results: Sequence[Taken | Refusal], taken: Sequence[Taken]) -> None:
        self.meters.events.inc(len(taken))
        late = sum(each.late for each in taken)
        if late:
            self.meters.late.inc(late)
        if len(taken) < len(results):
            for result in results:
                if isinstance(result, Refusal):
                    self.meters.refused.labels(_label(result.field)).inc()


async def _judge(form: Format, raws: Sequence[bytes], at: Intake) -> list[Taken | Refusal]:
    results: list[Taken | Refusal] = []
    for start in range(0, len(raws), _BREATH):
        if start:
            await asyncio.sleep(0)
        results += [read(form, raw, at) for raw in raws[start : start + _BREATH]]
    return results


def _label(field: str) -> str:
    """A field as a metric's label; names that clients made up count together."""
    return field if field in _MEMBERS else "attribute"
