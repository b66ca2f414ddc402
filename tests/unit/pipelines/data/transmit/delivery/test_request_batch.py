"""Events are grouped and split by a request's limits."""

from hypothesis import given
from hypothesis import strategies as st

from pipelines.data.transmit.connectors.http.formats import body
from pipelines.data.transmit.delivery.request_batch import grouped, halves, size_of, split
from pipelines.data.transmit.events import Event
from shared.contracts.documents import Batch
from shared.transformation.event_content import structured
from tests.unit.pipelines.data.transmit.transmit_events import event

events = st.lists(
    st.builds(
        lambda n, tenant, pipe, attempt, size, replay: event(
            n, tenant=tenant, pipe=pipe, attempt=attempt, value=b'"%s"' % (b"x" * size), replay=replay
        ),
        st.integers(0, 10**6),
        st.sampled_from(["acme", "zoo"]),
        st.sampled_from(["a", "b", "c"]),
        st.integers(1, 3),
        st.integers(0, 3000),
        st.sampled_from([None, "r1", "r2"]),
    ),
    max_size=30,
)
limits = st.builds(Batch, max_events=st.integers(1, 8), max_bytes=st.integers(1024, 8192))


@given(events)
def test_every_event_is_once_in_the_group_of_its_pipe_attempt_and_replay(given_events: list[Event]) -> None:
    groups = grouped(given_events)
    assert sorted(id(e) for group in groups.values() for e in group) == sorted(id(e) for e in given_events)
    assert all((e.tenant, e.pipe, e.attempt, e.replay) == key for key, group in groups.items() for e in group)


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


@given(st.binary(min_size=1, max_size=500))
def test_size_of_json_data_is_never_underestimated(data: bytes) -> None:
    one = event(value=b'"' + data.hex().encode() + b'"')
    assert len(structured(one)) + 1 <= size_of(one)


CONTROLS = "".join(map(chr, range(0x20)))


@given(
    st.text(st.sampled_from(f'a"\\{CONTROLS}\x7f\u20ac'), min_size=1, max_size=500).map(str.encode)
    | st.binary(min_size=1, max_size=500),
    st.sampled_from(["text/plain", "image/png"]),
)
def test_size_of_other_data_is_never_underestimated_however_it_grows_as_json(
    data: bytes, content_type: str
) -> None:
    one = event(value=data, content_type=content_type)
    written = len(structured(one)) + 1
    assert written <= size_of(one) <= written + 12
