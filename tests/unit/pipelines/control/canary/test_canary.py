"""The canary's record of its events, its schedule, and the checks of its destinations."""

import json
import pickle

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.control.canary.delivery_tracker import Arrival, DeliveryTracker
from pipelines.control.canary.documents import CARD, KIND, NOTE, PIPES, CanaryEvent, documents
from pipelines.control.canary.events import arrived, request
from pipelines.control.canary.schedule import Schedule, pause_after
from pipelines.control.canary.settings import CanarySettings
from shared.contracts.documents import CANARY, OWN_TENANTS, Catalogue, Destination, Pipe, Source
from shared.contracts.publish_plan import step_of

_PIPES = ("a", "b")
_LATE_MS = 1_000


@pytest.fixture
def watch() -> DeliveryTracker:
    return DeliveryTracker(_PIPES, _LATE_MS)


def _formats() -> set[str]:
    return {pipe.format for pipe in PIPES}


def test_an_acknowledged_event_is_missing_until_it_came_through_each_pipe(watch: DeliveryTracker) -> None:
    watch.send(["1"], 0)
    watch.acknowledge(["1"], 10)
    assert watch.arrive("a", "1", 200) is Arrival.FIRST
    assert watch.owed(500)
    assert watch.missing(500) == {"a": 0, "b": 0}
    assert watch.missing(10 + _LATE_MS + 1) == {"a": 0, "b": 1}
    assert not watch.owed(10 + _LATE_MS + 1)
    watch.arrive("b", "1", 5_000)
    assert watch.missing(6_000) == {"a": 0, "b": 0}


def test_an_unacknowledged_event_is_never_missing(watch: DeliveryTracker) -> None:
    watch.send(["1"], 0)
    assert watch.missing(10**9) == {"a": 0, "b": 0}


def test_an_event_may_arrive_before_its_request_is_answered(watch: DeliveryTracker) -> None:
    watch.send(["1"], 0)
    assert {watch.arrive(pipe, "1", 5) for pipe in _PIPES} == {Arrival.FIRST}
    watch.acknowledge(["1"], 10)
    assert not watch.owed(20)


def test_second_arrivals_and_those_of_an_earlier_canary_are_distinguished(watch: DeliveryTracker) -> None:
    watch.send(["1"], 0)
    watch.arrive("a", "1", 5)
    assert watch.arrive("a", "1", 6) is Arrival.AGAIN
    assert watch.arrive("a", "other", 6) is Arrival.STRANGE


def test_missing_events_are_remembered_for_a_day_and_arrived_ones_for_minutes(watch: DeliveryTracker) -> None:
    watch.send(["came", "missing"], 0)
    watch.acknowledge(["came", "missing"], 0)
    for pipe in _PIPES:
        watch.arrive(pipe, "came", 1)
    watch.forget(3_600_000)
    assert watch.arrive("a", "came", 3_600_000) is Arrival.STRANGE
    assert watch.missing(3_600_000) == {"a": 1, "b": 1}
    watch.forget(26 * 3_600_000)
    assert watch.missing(26 * 3_600_000) == {"a": 0, "b": 0}


def test_p95_is_of_the_last_minute(watch: DeliveryTracker) -> None:
    assert watch.p95(0) is None
    watch.send([str(n) for n in range(100)], 0)
    for n in range(100):
        watch.arrive("a", str(n), n + 1)
    assert watch.p95(100) == 95
    assert watch.p95(60_200) is None


def test_a_canary_without_a_scraper_does_not_grow(watch: DeliveryTracker) -> None:
    minute_ms, sizes = 60_000, []
    for minute in range(60):
        for now_ms in range(minute * minute_ms, (minute + 1) * minute_ms, 1_000):
            watch.send([str(now_ms)], now_ms)
            watch.acknowledge([str(now_ms)], now_ms)
            for pipe in _PIPES:
                watch.arrive(pipe, str(now_ms), now_ms + 100)
        watch.forget(now_ms)
        sizes.append(len(pickle.dumps(watch)))
    assert max(sizes[20:]) < 1.1 * sizes[20], "events are kept for ten minutes"


@given(st.floats(0.05, 100), st.floats(0.1, 30), st.integers(1, 200))
def test_the_rate_is_kept_whatever_the_time_between_requests(rate: float, seconds: float, turns: int) -> None:
    pace = Schedule(rate, seconds)
    sent = sum(pace.events() for _ in range(turns))
    assert abs(sent - rate * seconds * turns) <= 1


def test_a_collect_that_is_away_is_asked_less_and_less_and_then_at_the_old_pace() -> None:
    pace = Schedule(2, 1)
    away = [pace.pause(taken=False) for _ in range(8)]
    assert away == sorted(away)
    assert away[0] < 1 < away[-1] <= 15
    assert pace.pause(taken=True) == 1
    assert pace.pause(taken=False) == pause_after(1)


def test_documents_are_the_canarys_own_and_of_every_format_and_kind() -> None:
    found = documents("http://127.0.0.1:9/", "a-write-key")
    assert {document.tenant for document in found} == {CANARY} <= OWN_TENANTS
    assert _formats() == {"batch", "array", "ndjson", "event"}
    pipes = [each for each in found if isinstance(each, Pipe)]
    assert any(pipe.match for pipe in pipes)
    assert any(pipe.masks for pipe in pipes)
    assert any(pipe.transform for pipe in pipes)
    urls = [each.options["url"] for each in found if isinstance(each, Destination)]
    assert len(set(urls)) == len(pipes) == len(PIPES)
    assert "http://127.0.0.1:9/plain" in urls


def test_a_published_source_holds_no_key_and_does_not_change_with_the_same_one() -> None:
    (source,) = [each for each in documents("http://x", "a-write-key") if isinstance(each, Source)]
    step = step_of(source, Catalogue())
    assert "a-write-key" not in str(step)
    assert step_of(source, Catalogue({step.key: step.entry})).change == "unchanged"


def test_a_request_is_a_batch_of_cloud_events_with_the_time_they_are_made_at() -> None:
    (event,) = json.loads(request(["x-1"], 1_700_000_000_123))
    assert event["id"] == event["data"]["id"] == "x-1"
    assert event["time"] == "2023-11-14T22:13:20.123+00:00"


@pytest.mark.parametrize("format_", sorted(_formats()))
def test_each_format_of_a_webhook_is_read(format_: str) -> None:
    sent = CanaryEvent(id="1", sent_ms=7, kind=KIND)
    data = msgspec.json.encode(sent)
    event = b'{"specversion":"1.0","id":"1","data":' + data + b"}"
    bodies = {
        "batch": b"[" + event + b"]",
        "array": b"[" + data + b"]",
        "ndjson": event + b"\n",
        "event": event,
    }
    assert arrived(format_, bodies[format_]) == [sent]
    with pytest.raises(msgspec.MsgspecError):
        arrived(format_, b'{"not": "an event"}')


def test_an_event_that_its_pipe_did_not_change_is_wrong() -> None:
    untouched = CanaryEvent(id="1", sent_ms=7, kind=KIND, card=CARD, note=NOTE)
    masked = CanaryEvent(id="1", sent_ms=7, kind=KIND, card="***")
    slim = CanaryEvent(id="1", sent_ms=7)
    right = {pipe.kind: [pipe.right(event) for event in (untouched, masked, slim)] for pipe in PIPES}
    assert right["plain"] == right["pattern"] == right["sample"] == [True, False, False]
    assert right["masks"] == [False, True, False]
    assert right["transform"] == [False, False, True]


def test_a_twins_canary_takes_only_an_https_address() -> None:
    blue = {"bootstrap": "b:1", "side": "blue"}
    with pytest.raises(ValueError, match="HIFI_CANARY_SINKS: give an https://"):
        CanarySettings.model_validate(blue | {"canary_sinks": "http://canary.example.com"})
    CanarySettings.model_validate(blue | {"canary_sinks": "https://canary.example.com"})
    inside = blue | {"canary_sinks": "http://172.20.0.100:8080"}
    with pytest.raises(ValueError, match="the address that HIFI_ALLOW_ADDRESS names"):
        CanarySettings.model_validate(inside)
    with pytest.raises(ValueError, match="the address that HIFI_ALLOW_ADDRESS names"):
        CanarySettings.model_validate(inside | {"allow_address": "172.20.0.101"})
    CanarySettings.model_validate(inside | {"allow_address": "172.20.0.100"})
