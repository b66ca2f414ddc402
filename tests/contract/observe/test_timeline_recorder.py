"""The thread that records activities: its rows, and the failures that it survives."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import msgspec
import pytest
from msgspec.structs import replace

from pipelines.control.observe.dynamodb import Item, Store
from pipelines.control.observe.timeline.recorder import TimelineRecorder
from shared.contracts.diamond.activities import Action, Activity
from shared.contracts.diamond.stability import Stability
from shared.contracts.timeline import Health, HealthSpan, Timeline
from shared.dynamodb.activity_reader import Register
from shared.runtime.clock import wall_clock
from tests.harness.waiting import eventually

T0 = wall_clock()
LATE = Stability(stable=False, reasons=["late"])
DARK = Activity(
    id="r", action=Action.REPLACE_CODE, reason="release 2", phase="deploy dark", owner="d", fence=1,
    since_ms=T0, lease_seconds=15,
)  # fmt: skip
CANARY = replace(DARK, action=Action.STEP_FORWARD, phase="canary")


@dataclass(frozen=True)
class Moment:
    """The health and the activity seen together, and their time."""

    now_ms: int = T0
    health: Stability = LATE
    activity: Activity = DARK


class Seen:
    """A recorder's readings: each look sees one moment."""

    def __init__(self) -> None:
        self.next = self._moment = Moment()
        self.errors = 0
        """Number of next looks that fail."""

    def health(self) -> Stability:
        """The health; a look reads it first."""
        self._moment = self.next
        return self._moment.health

    def now_ms(self) -> int:
        return self._moment.now_ms

    def register(self) -> Register:
        if self.errors:
            self.errors -= 1
            raise RuntimeError("a defect")
        return Register(activities=[self._moment.activity], wishes=[], serial=1)


@pytest.fixture
def store(dynamodb_local: str, request: pytest.FixtureRequest) -> Store:
    made = Store(request.node.name, dynamodb_local)
    made.ensure()
    return made


@contextmanager
def recording(store: Store, seen: Seen) -> Iterator[TimelineRecorder]:
    recorder = TimelineRecorder(store, seen.register, seen.now_ms)
    recorder.start(seen.health)
    try:
        yield recorder
    finally:
        recorder.stop()


def health(recorder: TimelineRecorder) -> list[tuple[Health, int]]:
    return [(each.health, each.from_ms - T0) for each in _all(recorder).health]


def phases(recorder: TimelineRecorder) -> list[tuple[str, int]]:
    return [(each.phase, each.from_ms - T0) for each in _all(recorder).activities]


def _all(recorder: TimelineRecorder) -> Timeline:
    return recorder.between(0, T0 + 60_000)


def test_spans_that_begin_in_the_same_millisecond_are_kept_over_a_restart(store: Store) -> None:
    seen = Seen()
    with recording(store, seen) as first:
        eventually(lambda: phases(first))
        seen.next = Moment(T0 + 2_000, Stability(stable=True), CANARY)
        eventually(lambda: len(phases(first)) == len(health(first)) == 2)
    with recording(store, seen) as second:
        eventually(lambda: phases(second))
        assert phases(second) == [("deploy dark", 0), ("canary", 0)]
        assert health(second) == [(Health.UNSTABLE, 0), (Health.STABLE, 0)]


def test_spans_under_the_keys_of_an_earlier_version_are_read_and_go_on(store: Store) -> None:
    old = [
        HealthSpan(health=Health.STABLE, from_ms=T0 - 90_000, until_ms=T0 - 60_000),
        HealthSpan(health=Health.UNSTABLE, from_ms=T0 - 60_000, until_ms=T0 - 1_000),
    ]
    store.put(Item("timeline", f"health/{each.from_ms:015d}/", msgspec.msgpack.encode(each)) for each in old)
    shown = [(Health.STABLE, -90_000), (Health.UNSTABLE, -60_000)]
    for _ in range(2):  # also with both keys of the activity that goes on
        with recording(store, Seen()) as recorder:
            eventually(lambda: phases(recorder) and _all(recorder).health[-1].until_ms is None)
            assert health(recorder) == shown


def test_an_unexpected_error_is_logged_and_the_recording_goes_on(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    seen = Seen()
    seen.errors = 1
    with recording(store, seen) as recorder:
        eventually(lambda: phases(recorder))
    (logged,) = [each for each in caplog.records if each.exc_info]
    assert "timeline not recorded" in logged.message and "a defect" in str(logged.exc_info)


def test_who_acted_just_before_a_restart_is_known_before_the_next_process_records(store: Store) -> None:
    with recording(store, Seen()) as former:
        eventually(lambda: phases(former))
    after = TimelineRecorder(store, lambda: None, lambda: T0)
    assert [(each.id, each.phase, each.until_ms) for each in after.acted_since(T0)] == [
        ("r", "deploy dark", T0)
    ]
    assert after.acted_since(T0 + 1) == []
