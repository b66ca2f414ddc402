"""Rows for the Kafka sink: receipts, retries, dead letters and quarantined records."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

import msgspec
import pyarrow as pa

from pipelines.data.transmit.delivery.decide import Dead, Delivered, End, RetryLater, SlowLane
from pipelines.data.transmit.events import Event, Poison
from pipelines.data.transmit.schema import OUTPUT_ARROW
from shared.contracts import headers as h
from shared.contracts.headers import Headers, headers_size, quarantine_headers
from shared.contracts.limits import MAX_HEADERS_BYTES, MAX_READABLE_BYTES
from shared.contracts.receipts import Breaker, Lane, Receipt, Result, pack_keys
from shared.contracts.topics import Topic
from shared.contracts.tracing import traced

RECEIPT_EVENTS: Final = 1_000
"""Most events of a receipt: with ids of 256 bytes, each escaped to six, it still fits a record."""

_DROPPED_HEADERS: Final = frozenset((*h.OF_A_TRY, h.PIPES, h.WATCHED))
"""Headers of an earlier attempt, and those that belong to records of `outbound` only."""

_KNOWN: Final = (h.CE_PREFIX, "hifi_", h.CONTENT_TYPE)
_encoder = msgspec.json.Encoder()


class Row(NamedTuple):
    """One record to write."""

    topic: str
    key: bytes | None
    value: bytes | None
    headers: Headers


class SettledEvents(msgspec.Struct, frozen=True, kw_only=True):
    """Events of one request with the same outcome."""

    events: Sequence[Event]
    outcome: End
    tenant: str
    destination: str
    pipe: str
    attempt: int
    status: int | None = None
    tries: int = 0
    started_ms: int
    """First try of this task, epoch milliseconds."""

    departed_ms: int
    """When the last answer arrived, epoch milliseconds."""

    breaker: Breaker = "closed"
    lane: Lane = "fast"
    recovered: bool = False
    """Whether the receipt reports to the fast lane that the destination is fast again."""


def to_batch(rows: Iterable[Row]) -> pa.RecordBatch:
    """Rows as an Arrow batch in `schema.OUTPUT`."""
    columns = list(zip(*rows, strict=True)) or [(), (), (), ()]
    return pa.RecordBatch.from_arrays(
        [pa.array(column, field.type) for column, field in zip(columns, OUTPUT_ARROW, strict=True)],
        schema=OUTPUT_ARROW,
    )


def rows(settled: SettledEvents) -> Iterator[Row]:
    """Receipts, and the records of undelivered events for the retry, dead-letter or slow-lane topic.

    Events that go to the slow lane get their receipt there.
    """
    if isinstance(settled.outcome, SlowLane):
        for event in settled.events:
            yield _handed_on(event, settled, settled.outcome)
        return
    for at in range(0, len(settled.events), RECEIPT_EVENTS):
        yield _receipt(settled, settled.events[at : at + RECEIPT_EVENTS])
    if isinstance(settled.outcome, RetryLater | Dead):
        for event in settled.events:
            yield _moved(event, settled, settled.outcome)


def as_read(settled: SettledEvents) -> SettledEvents:
    """The same with the original events: retries and dead letters keep the data unmasked."""
    if all(event.untouched is None for event in settled.events):
        return settled
    return msgspec.structs.replace(settled, events=[event.as_read for event in settled.events])


def quarantined(poison: Poison) -> Row:
    """The quarantine record of a record that cannot be sent, cut to what a record can hold."""
    value = poison.value and poison.value[:MAX_READABLE_BYTES]
    headers = quarantine_headers(poison.headers, poison.reason, poison.origin)
    return Row(Topic.QUARANTINE, poison.key, value, headers)


def _receipt(settled: SettledEvents, events: Sequence[Event]) -> Row:
    result, reason = _result(settled)
    receipt = Receipt(
        destination=settled.destination,
        pipe=settled.pipe,
        result=result,
        ids=[event.id for event in events],
        minutes=[event.minute for event in events],
        status=settled.status,
        tries=settled.tries,
        attempt=settled.attempt,
        received_ms=[event.received_ms for event in events],
        departed_ms=settled.departed_ms,
        tenant=settled.tenant,
        since_ms=[event.since_ms for event in events],
        traces={e.id: e.traceparent for e in events if e.traceparent and traced(e.traceparent)},
        reason=reason,
        replay=events[0].replay or "",
        breaker=settled.breaker,
        lane=settled.lane,
    )
    delivered = (key for event in events for key in event.delivered_keys)
    headers: Headers = [(h.DELIVERED, pack_keys(delivered))] if result == "delivered" else []
    if settled.recovered:
        headers.append((h.RECOVERED, f"{settled.tenant}/{settled.destination}".encode()))
    return Row(Topic.RECEIPTS, None, _encoder.encode(receipt), headers)


def _result(settled: SettledEvents) -> tuple[Result, str]:
    match settled.outcome:
        case Delivered():
            return "delivered", ""
        case RetryLater(reason=reason):
            return "retry", reason
        case Dead(reason=reason):
            return "dead", reason
        case _:
            return "duplicate", ""


def _moved(event: Event, settled: SettledEvents, outcome: RetryLater | Dead) -> Row:
    first_ms = settled.started_ms if event.first_try_ms is None else event.first_try_ms
    added: Headers = [
        (h.REASON, outcome.reason.encode()),
        (h.DESTINATION, settled.destination.encode()),
        (h.STATUS, str(settled.status or "").encode()),
        (h.FIRST_TRY, str(first_ms).encode()),
        (h.LAST_TRY, str(settled.departed_ms).encode()),
    ]
    kept, topic = _kept(event.headers), Topic.DEAD_LETTER
    if isinstance(outcome, RetryLater):
        kept, topic = [header for header in kept if header[0] != h.ATTEMPT], outcome.topic
        added.append((h.NOT_BEFORE, str(outcome.not_before_ms).encode()))
        added.append((h.ATTEMPT, str(outcome.attempts).encode()))
    return Row(topic, event.key, event.value, kept + added)


def _handed_on(event: Event, settled: SettledEvents, outcome: SlowLane) -> Row:
    """The original record for the slow lane, with the time of its first try if there was one."""
    first_ms = event.first_try_ms
    if first_ms is None and settled.tries:
        first_ms = settled.started_ms
    times = ((h.FIRST_TRY, first_ms), (h.NOT_BEFORE, outcome.not_before_ms))
    added: Headers = [(name, str(at_ms).encode()) for name, at_ms in times if at_ms is not None]
    return Row(Topic.OUTBOUND_SLOW, event.key, event.value, _kept(event.headers) + added)


def _kept(headers: Headers) -> Headers:
    """Headers to copy; if they are too large, only hifi's own and CloudEvents'."""
    kept = [header for header in headers if header[0] not in _DROPPED_HEADERS]
    if headers_size(kept) <= MAX_HEADERS_BYTES:
        return kept
    return [header for header in kept if header[0].startswith(_KNOWN)]
