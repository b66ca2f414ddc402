"""Traced events' spans through a whole side: client, each node, and the OTLP receiver.

test_given_traceparents.py sent the events; the tests in between cost no waiting.
"""

from functools import partial

from shared.contracts.tracing import TraceContext, own_traceparent, span_id
from shared.contracts.tracing import traced as parsed
from tests.harness.span_receiver import SpanReceiver
from tests.harness.waiting import eventually
from tests.integration.traced_events import TracedEvents

TOLD_SECONDS = 180
"""Seconds: audit's trigger interval, and the time for which trace buffers an event's spans."""


def context_of(traceparent: str) -> TraceContext:
    context = parsed(traceparent)
    assert context is not None
    return context


def test_a_traced_event_is_a_chain_of_spans(traced: TracedEvents, spans: SpanReceiver) -> None:
    for one, traceparent, first_parent in (
        (traced.clients, traced.asked_for, context_of(traced.asked_for).span_id),
        (traced.chosen, own_traceparent(traced.tenant, traced.chosen), ""),
    ):
        trace_id = context_of(traceparent).trace_id
        eventually(partial(complete, spans, trace_id), TOLD_SECONDS, f"four spans of {one}")
        check_chain(spans, trace_id, traced.tenant, one, first_parent)
    assert traced.not_asked_for.split("-")[1] not in spans.spans


def complete(spans: SpanReceiver, trace_id: str) -> bool:
    return len(spans.spans.get(trace_id, ())) >= 4


def check_chain(spans: SpanReceiver, trace_id: str, tenant: str, event_id: str, first_parent: str) -> None:
    """Check that collect, ingest, route and transmit are each the child of the one before."""
    found = {service: (name, own, parent) for service, name, own, parent in spans.spans[trace_id]}
    pipe = f"{tenant}-all"
    collect, ingest, route = (
        span_id(tenant, event_id, *of) for of in (("collect",), ("ingest",), ("route", pipe))
    )
    assert found.pop("transmit")[::2] == (f"transmit {pipe}", route)
    assert found == {
        "collect": (f"collect {tenant}", collect, first_parent),
        "ingest": ("ingest", ingest, collect),
        "route": (f"route {pipe}", route, ingest),
    }
