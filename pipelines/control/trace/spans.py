"""Turns the trace points of one event into the spans of its trace. Pure."""

from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from shared.contracts.ledger import Stage
from shared.contracts.tracing import COLLECT, TraceContext, TracePoint, span_id, traced

_INGEST: Final = "ingest"
_ROUTE: Final = "route"
_TRANSMIT: Final = "transmit"
_COPIES: Final = (Stage.UNMATCHED, Stage.FIRST, Stage.FURTHER)
_ANSWERS: Final = (Stage.DELIVERED, Stage.RETRYING, Stage.DEAD, Stage.DROPPED)
_FAILED: Final = (Stage.RETRYING, Stage.DEAD)
_TO_SEND: Final = (Stage.FIRST, Stage.FURTHER, Stage.LETTER, Stage.RETRIED)

_NODES: Final = {
    Stage.COLLECTED: COLLECT,
    Stage.EVENTS: _INGEST,
    **dict.fromkeys(_COPIES, _ROUTE),
    Stage.LETTER: "replay",
    Stage.RETRIED: "retry",
    **dict.fromkeys(_ANSWERS, _TRANSMIT),
}
"""The node that a stage's trace point ends the span of. Other stages add nothing."""

_BEFORE: Final = {
    Stage.EVENTS: (Stage.COLLECTED,),
    **dict.fromkeys(_COPIES, (Stage.EVENTS,)),
    **dict.fromkeys(_ANSWERS, _TO_SEND),
    Stage.RETRIED: (Stage.RETRYING,),
}
"""The stage at which a node's span begins."""


class Span(Struct, frozen=True, kw_only=True):
    """The span of one node."""

    trace_id: str
    span_id: str
    parent_id: str | None
    """None for the root span."""

    node: str
    name: str
    begin_ms: int
    end_ms: int
    """Epoch milliseconds."""

    failed: bool
    facts: dict[str, str | int]


def spans(points: Sequence[TracePoint]) -> list[Span]:
    """The spans of one event, as far as its trace points show them."""
    found = []
    for point in points:
        context = traced(point.traceparent)
        if context is not None and point.stage in _NODES:
            found.append(_span(point, context, _begin(point, points)))
    return found


def _span(point: TracePoint, context: TraceContext, begin_ms: int) -> Span:
    node = _NODES[point.stage]
    return Span(
        trace_id=context.trace_id,
        span_id=_own_id(point),
        parent_id=_parent_id(point, context),
        node=node,
        name=f"{node} {point.name}".rstrip(),
        begin_ms=begin_ms,
        end_ms=point.end_ms,
        failed=point.stage in _FAILED,
        facts=_facts(point),
    )


def _own_id(point: TracePoint) -> str:
    """collect, ingest and route handle an event once, or once per pipe; later nodes once per attempt."""
    match point.stage:
        case Stage.COLLECTED:
            return _id(point, COLLECT)
        case Stage.EVENTS:
            return _id(point, _INGEST)
        case stage if stage in _COPIES:
            return _id(point, _ROUTE, point.name)
        case _:
            partition = f"{point.topic}/{point.partition}/{point.offset}"
            return _id(point, point.stage, point.name, partition)


def _parent_id(point: TracePoint, context: TraceContext) -> str | None:
    """The parent span's id: the client's for collect, route's for whatever concerns one pipe."""
    match point.stage:
        case Stage.COLLECTED:
            return None if context.span_id == _id(point, COLLECT) else context.span_id
        case Stage.EVENTS:
            return _id(point, COLLECT)
        case stage if stage in _COPIES:
            return _id(point, _INGEST)
        case _:
            return _id(point, _ROUTE, point.name)


def _id(point: TracePoint, *of: str) -> str:
    return span_id(point.tenant, point.id, *of)


def _begin(point: TracePoint, beside: Sequence[TracePoint]) -> int:
    """When the node received the event: the end of the span before, if that is known."""
    before = _BEFORE.get(point.stage, ())
    ends = [
        each.end_ms
        for each in beside
        if each.stage in before and each.end_ms <= point.end_ms and _same_way(each, point)
    ]
    return min(max(ends, default=point.begin_ms), point.end_ms)


def _same_way(one: TracePoint, other: TracePoint) -> bool:
    """Whether both belong to the same pipe; before route events have no pipe."""
    return one.stage in (Stage.COLLECTED, Stage.EVENTS) or one.name == other.name


def _facts(point: TracePoint) -> dict[str, str | int]:
    facts: dict[str, str | int] = {
        "hifi.tenant": point.tenant,
        "hifi.stage": point.stage,
        "cloudevents.event_id": point.id,
        "messaging.system": "kafka",
        "messaging.destination.name": point.topic,
        "messaging.destination.partition.id": str(point.partition),
        "messaging.kafka.offset": point.offset,
    }
    name = "hifi.source" if point.stage is Stage.COLLECTED else "hifi.pipe"
    said = {name: point.name, "hifi.destination": point.destination, "hifi.result": point.result}
    return facts | {key: text for key, text in said.items() if text}
