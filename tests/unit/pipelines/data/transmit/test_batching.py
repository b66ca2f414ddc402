"""Events grouped and cut to what a request may carry; bodies that keep the bytes of data."""

import json

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from pipelines.data.transmit.batching import body, grouped, halves, size_of, split, structured
from pipelines.data.transmit.events import Event
from shared.contracts.documents import Batch
from tests.unit.pipelines.data.transmit.transmit_events import event

events = st.lists(
    st.builds(
        lambda n, pipe, attempt, size: event(n, pipe=pipe, attempt=attempt, value=b'"%s"' % (b"x" * size)),
        st.integers(0, 10**6),
        st.sampled_from(["a", "b", "c"]),
        st.integers(1, 3),
        st.integers(0, 3000),
    ),
    max_size=30,
)
limits = st.builds(Batch, max_events=st.integers(1, 8), max_bytes=st.integers(1024, 8192))


@given(events)
def test_every_event_is_in_the_group_of_its_pipe_and_attempt_once(given_events: list[Event]) -> None:
    groups = grouped(given_events)
    assert sorted(id(e) for group in groups.values() for e in group) == sorted(id(e) for e in given_events)
    assert all((e.pipe, e.attempt) == key for key, group in groups.items() for e in group)


@given(events, limits)
def test_every_event_travels_once_in_order_within_the_limits(given_events: list[Event], limit: Batch) -> None:
    runs = list(split(given_events, limit))
    assert [id(e) for run in runs for e in run] == [id(e) for e in given_events]
    for run in runs:
        assert 1 <= len(run) <= limit.max_events
        assert len(run) == 1 or len(body(run)) <= limit.max_bytes


@given(st.lists(st.integers(0, 10**6), min_size=2, max_size=50).map(lambda ns: [event(n) for n in ns]))
def test_halves_are_never_empty_and_lose_nothing(given_events: list[Event]) -> None:
    left, right = halves(given_events)
    assert left
    assert right
    assert [*left, *right] == given_events


json_texts = st.recursive(
    st.sampled_from(
        ["12345678901234567890", "0.123456789012345678901234567890", "1.10", '"\\u00e9\\/"', '"\U0001f600"']
    )
    | st.text().map(json.dumps),
    lambda inner: (
        st.lists(inner, max_size=4).map(lambda xs: "[ " + ",".join(xs) + "]")
        | st.lists(inner, max_size=3).map(lambda xs: "{" + ",".join(f'"a" : {x}' for x in xs) + "}")
    ),
    max_leaves=10,
)


class Received(msgspec.Struct):
    """As a destination that keeps the bytes would read it."""

    id: str
    data: msgspec.Raw


@given(st.lists(json_texts, min_size=1, max_size=5))
def test_data_arrives_byte_for_byte(texts: list[str]) -> None:
    sent = [event(n, value=text.encode()) for n, text in enumerate(texts)]
    received = msgspec.json.decode(body(sent), type=list[Received])
    assert [r.id for r in received] == [e.id for e in sent]
    assert [bytes(r.data).strip() for r in received] == [(e.value or b"").strip() for e in sent]


@given(st.text())
def test_text_travels_as_a_json_string(text: str) -> None:
    member = json.loads(structured(event(value=text.encode(), content_type="text/plain")))
    assert member["data"] == text


def test_bytes_travel_as_base64_and_absent_data_not_at_all() -> None:
    assert json.loads(structured(event(value=b"\xff\x00", content_type="image/png")))["data_base64"] == "/wA="
    assert "data" not in json.loads(structured(event(value=None)))


@given(st.binary(min_size=1, max_size=500))
def test_size_of_json_data_is_never_underestimated(data: bytes) -> None:
    one = event(value=b'"' + data.hex().encode() + b'"')
    assert len(structured(one)) + 1 <= size_of(one)
