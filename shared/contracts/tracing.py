"""Which events are traced, and what `traces` says of them.

An event's `traceparent` names its trace (W3C Trace Context, version 00; CloudEvents' distributed tracing
extension). It is the client's own; otherwise one event in ONE_IN gets one that every node derives from tenant
and id. Span ids are derived from the event as well, so an event that is sent twice has the same span.
"""

import hashlib
import re
from typing import Final

import msgspec

from shared.contracts.event_hash import id_hash
from shared.contracts.ledger import Stage
from shared.contracts.topics import Topic

ONE_IN: Final = 1_000
"""One event of so many gets a traceparent from hifi, by its id's hash."""

SPAN_DIGITS: Final = 16
VERSION: Final = "00"
SAMPLED_FLAGS: Final = "01"

COLLECT: Final = "collect"
"""Distinguishes the span in hifi's own traceparents from the event's other spans."""

_TRACEPARENT: Final = re.compile(r"00-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-[0-9a-f]([0-9a-f])")
_SAMPLED: Final = 1


class TraceContext(msgspec.Struct, frozen=True):
    """The trace and the span that a traceparent names."""

    trace_id: str
    """32 hexadecimal digits."""

    span_id: str
    """16 hexadecimal digits: the span that wrote the traceparent."""


class TracePoint(msgspec.Struct, kw_only=True, frozen=True, omit_defaults=True):
    """The value of a `traces` record: a traced event was seen at a place."""

    traceparent: str
    tenant: str
    id: str
    stage: Stage
    name: str = ""
    """A source or a pipe: see Stage."""

    destination: str = ""
    """The destination of a receipt."""

    begin_ms: int
    """The earliest that what led here can have begun, epoch milliseconds."""

    end_ms: int
    """When it was done, epoch milliseconds: the record's own time, or of a receipt the answer's."""

    topic: Topic
    partition: int
    offset: int
    result: str = ""
    """Status and reason of a receipt for events that were not delivered."""


def is_sampled(event_id: str) -> bool:
    """Whether hifi traces an event that has no traceparent of its client."""
    return id_hash(event_id) % ONE_IN == 0


def own_traceparent(tenant: str, event_id: str) -> str:
    """The traceparent that hifi gives to a chosen event."""
    trace_id = _digest(tenant, event_id)
    return f"{VERSION}-{trace_id}-{span_id(tenant, event_id, COLLECT)}-{SAMPLED_FLAGS}"


def span_id(tenant: str, event_id: str, *of: str) -> str:
    """The id of one of an event's spans, 16 hexadecimal digits; `of` distinguishes them."""
    return _digest(tenant, event_id, *of)[:SPAN_DIGITS]


def traced(traceparent: str) -> TraceContext | None:
    """The ids in a traceparent; None if it is not valid, or says that the event is not to be traced."""
    found = _TRACEPARENT.fullmatch(traceparent)
    if found is None or not int(found[3], 16) & _SAMPLED:
        return None
    return TraceContext(found[1], found[2])


def _digest(*parts: str) -> str:
    """MD5, because Spark computes it natively: a trace id names, and guards nothing."""
    return hashlib.md5("\0".join(parts).encode(), usedforsecurity=False).hexdigest()


_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(TracePoint)


def encode_trace_point(point: TracePoint) -> bytes:
    """The value of a `traces` record."""
    return _encoder.encode(point)


def decode_trace_point(value: bytes) -> TracePoint:
    """The trace point in a `traces` record's value.

    Raises:
        msgspec.MsgspecError: if the bytes are not one.
    """
    return _decoder.decode(value)
