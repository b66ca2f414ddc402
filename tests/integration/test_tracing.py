"""One event's trace through a whole side: client, each node, destination, and the OTLP receiver."""

import json
from collections.abc import Mapping
from functools import partial
from itertools import count
from typing import Any
from uuid import uuid4

from scripts.load.receiver import Receiver, running
from shared.contracts.tracing import TraceContext, is_sampled, own_traceparent, span_id, traced
from tests.harness.live_side import LiveSide
from tests.harness.span_receiver import SpanReceiver
from tests.harness.waiting import eventually
from tests.integration.test_live_config import documents

TOLD_SECONDS = 180
"""Audit's trigger interval, and the time for which trace buffers an event's spans."""


def event(event_id: str, traceparent: str = "") -> dict[str, object]:
    asked = {"traceparent": traceparent} if traceparent else {}
    return {"specversion": "1.0", "id": event_id, "source": "t", "type": "t", "data": 1} | asked


def post(live: LiveSide, key: str, *events: dict[str, object]) -> bool:
    return live.post(key, json.dumps(events).encode(), "application/cloudevents-batch+json")


def context_of(traceparent: str) -> TraceContext:
    context = traced(traceparent)
    assert context is not None
    return context


def test_a_traced_event_is_a_chain_of_spans_and_its_destination_gets_the_traceparent(
    live: LiveSide, spans: SpanReceiver
) -> None:
    tenant, arrived = f"traced-{uuid4().hex[:8]}", dict[str, dict[str, Any]]()

    def take(_: str, body: bytes, __: Mapping[str, str]) -> None:
        arrived.update({found["id"]: found for found in json.loads(body)})

    asked_for = f"00-{uuid4().hex}-{uuid4().hex[:16]}-01"
    unsampled_trace = uuid4().hex
    not_asked_for = f"00-{unsampled_trace}-{uuid4().hex[:16]}-00"
    assert traced(not_asked_for) is None
    ids = (f"{tenant}-{number}" for number in count())
    chosen = next(filter(is_sampled, ids))
    clients, unsampled, plain = (next(one for one in ids if not is_sampled(one)) for _ in range(3))
    with running(Receiver(on_body=take)) as receiver:
        live.apply(*documents(tenant, receiver, "all"))
        key = f"integration-{tenant}"
        eventually(
            lambda: post(live, key, event("probe")) and "probe" in arrived, 60, "the pipe is live", 0.5
        )
        assert post(
            live, key, event(clients, asked_for), event(unsampled, not_asked_for), event(chosen), event(plain)
        )
        eventually(lambda: len(arrived) == 5, 60, "all arrive")
    own = own_traceparent(tenant, chosen)
    carried = [arrived[one].get("traceparent") for one in (clients, unsampled, chosen, plain)]
    assert carried == [asked_for, not_asked_for, own, None]

    for one, traceparent, first_parent in (
        (clients, asked_for, context_of(asked_for).span_id),
        (chosen, own, ""),
    ):
        trace_id = context_of(traceparent).trace_id
        eventually(partial(complete, spans, trace_id), TOLD_SECONDS, f"four spans of {one}")
        check_chain(spans, trace_id, tenant, one, first_parent)
    assert unsampled_trace not in spans.spans


def complete(spans: SpanReceiver, trace_id: str) -> bool:
    return len(spans.spans.get(trace_id, ())) >= 4


def check_chain(spans: SpanReceiver, trace_id: str, tenant: str, event_id: str, first_parent: str) -> None:
    """collect, ingest, route and transmit, each the child of the one before it."""
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
