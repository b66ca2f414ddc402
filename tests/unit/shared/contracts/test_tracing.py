"""Which events are traced, and the spans made of trace points."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.control.trace.span_buffer import BATCH_POINTS, MAX_POINTS, TRACE_POINTS, SpanBuffer
from pipelines.control.trace.spans import Span, spans
from shared.contracts.ledger import Stage
from shared.contracts.topics import Topic
from shared.contracts.tracing import (
    TraceContext,
    TracePoint,
    decode_trace_point,
    encode_trace_point,
    is_sampled,
    own_traceparent,
    span_id,
    traced,
)

TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
CLIENTS = f"00-{TRACE}-{SPAN}-01"
OWN = own_traceparent("acme", "e1")
TRACES = (Topic.TRACES, 0)


def trace_point(stage: Stage, end_ms: int = 100, name: str = "", **changes: object) -> TracePoint:
    seen = TracePoint(
        traceparent=OWN,
        tenant="acme",
        id="e1",
        stage=stage,
        name=name,
        begin_ms=10,
        end_ms=end_ms,
        topic=Topic.EVENTS,
        partition=0,
        offset=end_ms,
    )
    return msgspec.structs.replace(seen, **changes)


@given(st.text(max_size=20), st.text(max_size=20))
def test_what_hifi_stamps_is_a_traceparent_that_asks_for_a_trace(tenant: str, event_id: str) -> None:
    assert traced(own_traceparent(tenant, event_id)) is not None


def test_about_one_event_in_a_thousand_is_chosen() -> None:
    assert 60 <= sum(is_sampled(f"event-{n}") for n in range(100_000)) <= 140


@pytest.mark.parametrize(
    ("text", "context"),
    [
        (CLIENTS, TraceContext(TRACE, SPAN)),
        (f"00-{TRACE}-{SPAN}-ff", TraceContext(TRACE, SPAN)),
        (f"00-{TRACE}-{SPAN}-00", None),
        (f"00-{TRACE}-{SPAN}-fe", None),
        (f"00-{'0' * 32}-{SPAN}-01", None),
        (f"00-{TRACE}-{'0' * 16}-01", None),
        (f"00-{TRACE.upper()}-{SPAN}-01", None),
        (f"01-{TRACE}-{SPAN}-01", None),
        (f"{CLIENTS}\n", None),
        ("", None),
    ],
)
def test_only_a_sampled_traceparent_asks_for_a_trace(text: str, context: TraceContext | None) -> None:
    assert traced(text) == context


def test_a_sighting_is_read_as_it_was_written() -> None:
    seen = trace_point(Stage.DEAD, 7, "shop", destination="till", result="404 refused")
    assert decode_trace_point(encode_trace_point(seen)) == seen


CHAIN = [
    trace_point(Stage.COLLECTED, 100, "web"),
    trace_point(Stage.EVENTS, 130),
    trace_point(Stage.FIRST, 150, "shop"),
    trace_point(Stage.FURTHER, 160, "bank"),
    trace_point(Stage.RETRYING, 200, "shop", result="503 failed"),
    trace_point(Stage.WAITING, 201, "shop"),
    trace_point(Stage.DELIVERED, 210, "bank", destination="vault"),
    trace_point(Stage.RETRIED, 900, "shop"),
    trace_point(Stage.DELIVERED, 950, "shop", destination="till"),
]


def by_name(found: list[Span]) -> dict[tuple[str, int], Span]:
    return {(span.name, span.end_ms): span for span in found}


@given(st.permutations(CHAIN))
def test_each_span_begins_where_the_one_before_it_ended_and_hangs_on_its_pipes(
    seen: list[TracePoint],
) -> None:
    found = by_name(spans(seen))
    assert {key: span.begin_ms for key, span in found.items()} == {
        ("collect web", 100): 10,
        ("ingest", 130): 100,
        ("route shop", 150): 130,
        ("route bank", 160): 130,
        ("transmit shop", 200): 150,
        ("transmit bank", 210): 160,
        ("retry shop", 900): 200,
        ("transmit shop", 950): 900,
    }
    ids = {span.span_id: key for key, span in found.items()}
    assert len(ids) == len(found)
    assert {key: span.parent_id and ids[span.parent_id] for key, span in found.items()} == {
        ("collect web", 100): None,
        ("ingest", 130): ("collect web", 100),
        ("route shop", 150): ("ingest", 130),
        ("route bank", 160): ("ingest", 130),
        ("transmit shop", 200): ("route shop", 150),
        ("retry shop", 900): ("route shop", 150),
        ("transmit shop", 950): ("route shop", 150),
        ("transmit bank", 210): ("route bank", 160),
    }
    assert [span.failed for span in found.values()].count(True) == 1


@given(st.sets(st.integers(0, len(CHAIN) - 1)))
def test_a_span_sent_separately_or_twice_is_the_same_span(some: set[int]) -> None:
    whole = {span.span_id: (span.parent_id, span.node) for span in spans(CHAIN)}
    for span in spans([CHAIN[n] for n in some] * 2):
        assert whole[span.span_id] == (span.parent_id, span.node)
        assert span.begin_ms <= span.end_ms


def test_a_clients_trace_goes_on_below_the_clients_own_span() -> None:
    (span,) = spans([trace_point(Stage.COLLECTED, traceparent=CLIENTS)])
    assert (span.trace_id, span.parent_id) == (TRACE, SPAN)
    assert span.span_id == span_id("acme", "e1", "collect")
    assert spans([trace_point(Stage.COLLECTED, traceparent=f"00-{TRACE}-{SPAN}-00")]) == []


def test_an_event_is_sent_after_the_hold_time_and_committed_after_that() -> None:
    buffer = SpanBuffer(1_000)
    buffer.take(TRACES, 5, trace_point(Stage.COLLECTED), 0)
    buffer.take(TRACES, 6, trace_point(Stage.COLLECTED, id="e2"), 500)
    buffer.take(TRACES, 7, trace_point(Stage.EVENTS), 900)
    buffer.take(TRACES, 8, None, 900)
    assert buffer.due(999) == []
    first = buffer.due(1_000)
    assert [[each.stage for each in trace.points] for trace in first] == [[Stage.COLLECTED, Stage.EVENTS]]
    assert buffer.positions() == {TRACES: 5}, "the receiver has not heard yet"
    buffer.done(first)
    assert buffer.positions() == {TRACES: 6}
    buffer.done(buffer.due(2_000))
    assert buffer.positions() == {TRACES: 9}


def test_a_clock_that_is_set_back_holds_no_trace_back() -> None:
    buffer = SpanBuffer(15_000)
    buffer.take(TRACES, 0, trace_point(Stage.COLLECTED), 3_600_000)
    assert [trace.records for trace in buffer.due(20_000)] == [[(TRACES, 0)]]


def test_events_of_partitions_that_another_member_reads_are_forgotten() -> None:
    buffer, other = SpanBuffer(0), (Topic.TRACES, 1)
    buffer.take(TRACES, 0, trace_point(Stage.COLLECTED), 0)
    buffer.take(other, 0, trace_point(Stage.EVENTS), 0)
    buffer.take(other, 1, trace_point(Stage.EVENTS, id="e2"), 0)
    buffer.forget([other])
    assert [trace.records for trace in buffer.due(0)] == [[(TRACES, 0)]]
    assert buffer.positions() == {TRACES: 0}


@given(st.lists(st.integers(0, 30), min_size=40, max_size=60))
def test_a_batch_is_bounded_by_its_trace_points_and_none_is_left_behind(ids: list[int]) -> None:
    buffer, offset = SpanBuffer(0), 0
    for n in ids:
        for _ in range(n + 60):
            buffer.take(TRACES, offset, trace_point(Stage.COLLECTED, id=f"e{n}"), 0)
            offset += 1
    exported = []
    while due := buffer.due(0):
        assert sum(len(trace.points) for trace in due) <= BATCH_POINTS
        exported += [at for trace in due for _, at in trace.records]
        buffer.done(due)
    assert sorted(exported) == list(range(offset))
    assert buffer.positions() == {TRACES: offset}


def test_events_of_one_id_become_traces_of_bounded_size() -> None:
    buffer = SpanBuffer(1_000)
    for n in range(2 * TRACE_POINTS + 1):
        buffer.take(TRACES, n, trace_point(Stage.COLLECTED), n)
    assert [len(trace.points) for trace in buffer.due(9_999)] == [TRACE_POINTS, TRACE_POINTS, 1]


def test_a_full_buffer_gives_out_the_oldest_before_their_time() -> None:
    buffer = SpanBuffer(15_000)
    for n in range(MAX_POINTS):
        assert buffer.due(0) == []
        buffer.take(TRACES, n, trace_point(Stage.COLLECTED, id=f"e{n}"), 0)
    due = buffer.due(0)
    assert [trace.points[0].id for trace in due] == [f"e{n}" for n in range(BATCH_POINTS)]
    buffer.done(due)
    assert not buffer.full
    assert buffer.due(0) == [], "the others are held as before"
