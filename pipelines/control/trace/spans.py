"""Sightings of one event to the spans of its trace. Pure."""

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
"""The node whose work a sighting ends. Where else an event is seen, another sighting tells the same."""

_BEFORE: Final = {
    Stage.EVENTS: (Stage.COLLECTED,),
    **dict.fromkeys(_COPIES, (Stage.EVENTS,)),
    **dict.fromkeys(_ANSWERS, _TO_SEND),
    Stage.RETRIED: (Stage.RETRYING,),
}
"""What a node's work begins with."""


class Span(Struct, frozen=True, kw_only=True):
    """What one node did with an event."""

    trace_id: str
    span_id: str
    parent_id: str | None
    """None: it is the trace's first."""

    node: str
    name: str
    begin_ms: int
    end_ms: int
    """Epoch milliseconds."""

    failed: bool
    facts: dict[str, str | int]


def spans(sightings: Sequence[TracePoint]) -> list[Span]:
    """The spans of one event, as far as its sightings tell them."""
    found = []
    for sighting in sightings:
        context = traced(sighting.traceparent)
        if context is not None and sighting.stage in _NODES:
            found.append(_span(sighting, context, _begin(sighting, sightings)))
    return found


def _span(sighting: TracePoint, context: TraceContext, begin_ms: int) -> Span:
    node = _NODES[sighting.stage]
    return Span(
        trace_id=context.trace_id,
        span_id=_own_id(sighting),
        parent_id=_parent_id(sighting, context),
        node=node,
        name=f"{node} {sighting.name}".rstrip(),
        begin_ms=begin_ms,
        end_ms=sighting.end_ms,
        failed=sighting.stage in _FAILED,
        facts=_facts(sighting),
    )


def _own_id(sighting: TracePoint) -> str:
    """collect, ingest and route handle an event once, or once a pipe; the others as often as it takes."""
    match sighting.stage:
        case Stage.COLLECTED:
            return _id(sighting, COLLECT)
        case Stage.EVENTS:
            return _id(sighting, _INGEST)
        case stage if stage in _COPIES:
            return _id(sighting, _ROUTE, sighting.name)
        case _:
            place = f"{sighting.topic}/{sighting.partition}/{sighting.offset}"
            return _id(sighting, sighting.stage, sighting.name, place)


def _parent_id(sighting: TracePoint, context: TraceContext) -> str | None:
    """Of collect the client's span; of what a pipe is about, route's."""
    match sighting.stage:
        case Stage.COLLECTED:
            return None if context.span_id == _id(sighting, COLLECT) else context.span_id
        case Stage.EVENTS:
            return _id(sighting, COLLECT)
        case stage if stage in _COPIES:
            return _id(sighting, _INGEST)
        case _:
            return _id(sighting, _ROUTE, sighting.name)


def _id(sighting: TracePoint, *of: str) -> str:
    return span_id(sighting.tenant, sighting.id, *of)


def _begin(sighting: TracePoint, beside: Sequence[TracePoint]) -> int:
    """When the node had it: the end of what came before, where that was seen as well."""
    before = _BEFORE.get(sighting.stage, ())
    ends = [
        each.end_ms
        for each in beside
        if each.stage in before and each.end_ms <= sighting.end_ms and _same_way(each, sighting)
    ]
    return min(max(ends, default=sighting.begin_ms), sighting.end_ms)


def _same_way(one: TracePoint, other: TracePoint) -> bool:
    """Whether both are about one pipe; before route there is none."""
    return one.stage in (Stage.COLLECTED, Stage.EVENTS) or one.name == other.name


def _facts(sighting: TracePoint) -> dict[str, str | int]:
    facts: dict[str, str | int] = {
        "hifi.tenant": sighting.tenant,
        "hifi.stage": sighting.stage,
        "cloudevents.event_id": sighting.id,
        "messaging.system": "kafka",
        "messaging.destination.name": sighting.topic,
        "messaging.destination.partition.id": str(sighting.partition),
        "messaging.kafka.offset": sighting.offset,
    }
    name = "hifi.source" if sighting.stage is Stage.COLLECTED else "hifi.pipe"
    said = {name: sighting.name, "hifi.destination": sighting.destination, "hifi.result": sighting.result}
    return facts | {key: text for key, text in said.items() if text}
