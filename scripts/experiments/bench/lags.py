"""Times at which events passed each hop, and the lags between them. Pure."""

from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from itertools import pairwise
from zlib import crc32

import msgspec
from msgspec import Struct

from scripts.experiments.harness.percentiles import Quantiles, quantiles
from shared.contracts import headers
from shared.contracts.envelope import CollectedItem
from shared.contracts.receipts import Receipt
from shared.contracts.timestamps import parse_time

Headers = Mapping[str, bytes]


class Point(StrEnum):
    """Points on an event's way, in order. A topic's point is the Kafka timestamp of the record: the time when
    the node gave it to its producer. So a step includes linger and acknowledgement of the record before.
    """

    TIME = "event time"
    RECEIVED = "received"
    COLLECTED = "collected"
    EVENTS = "events"
    OUTBOUND = "outbound"
    DEPARTED = "answered"
    RECEIPT = "receipt"


class Stamp(Struct, frozen=True):
    """The time at which one event passed one point."""

    event_id: str
    point: Point
    at_ms: int


class HopLag(Struct, frozen=True, kw_only=True):
    """The lag from one point to another over the sampled events that passed both."""

    start: Point
    end: Point
    lag: Quantiles


_items = msgspec.json.Decoder(list[CollectedItem])
_receipt = msgspec.json.Decoder(Receipt)


def sampled(event_id: str, every: int) -> bool:
    """Whether an event is in the sample of about 1 in `every`; the same for each topic."""
    return crc32(event_id.encode()) % every == 0


def collected_stamps(value: bytes, record_headers: Headers, at_ms: int, every: int) -> Iterator[Stamp]:
    """Event time, receive time and append time of the events in a `collected` record."""
    received = int(record_headers[headers.RECEIVED])
    for item in _items.decode(value):
        if sampled(item.id, every):
            yield Stamp(item.id, Point.RECEIVED, received)
            yield Stamp(item.id, Point.COLLECTED, at_ms)
            if (time_ms := parse_time(item.time)) is not None:
                yield Stamp(item.id, Point.TIME, time_ms)


def event_stamps(point: Point, record_headers: Headers, at_ms: int, every: int) -> Iterator[Stamp]:
    """Append time of the event in an `events` or `outbound` record."""
    event_id = record_headers[headers.CE_ID].decode()
    if sampled(event_id, every):
        yield Stamp(event_id, point, at_ms)


def receipt_stamps(value: bytes, at_ms: int, every: int) -> Iterator[Stamp]:
    """Response time and append time of the delivered events in a `receipts` record."""
    receipt = _receipt.decode(value)
    if receipt.result != "delivered":
        return
    for event_id in receipt.ids:
        if sampled(event_id, every):
            yield Stamp(event_id, Point.DEPARTED, receipt.departed_ms)
            yield Stamp(event_id, Point.RECEIPT, at_ms)


def hop_lags(stamps: Iterable[Stamp]) -> list[HopLag]:
    """Lags between neighbouring points, then from event time to the response.

    An event that passed a point more than once (several pipes, a replay) counts the first time.
    """
    first: dict[Point, dict[str, int]] = {point: {} for point in Point}
    for stamp in stamps:
        passed = first[stamp.point]
        passed[stamp.event_id] = min(stamp.at_ms, passed.get(stamp.event_id, stamp.at_ms))
    steps = (*pairwise(Point), (Point.TIME, Point.DEPARTED))
    found = ((start, end, _between(first[start], first[end])) for start, end in steps)
    return [HopLag(start=start, end=end, lag=lag) for start, end, lag in found if lag]


def _between(start: Mapping[str, int], end: Mapping[str, int]) -> Quantiles | None:
    return quantiles(end[event_id] - at for event_id, at in start.items() if event_id in end)
