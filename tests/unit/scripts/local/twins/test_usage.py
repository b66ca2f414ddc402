"""A minute's contribution to a side's counters, and the deployer's view of a minute."""

from collections.abc import Iterator

from pipelines.control.backends.meter import MinuteUsage, side_minute
from pipelines.control.backends.minute_readings import MinuteReadings, Reading, added
from shared.contracts.scorecard import MinuteCard, Percentiles


def _reading(cpu: float, memory: int = 7, changed: float | None = 0) -> Reading:
    return Reading(cpu_seconds=cpu, memory_bytes=memory, changed=changed)


def test_a_minute_adds_the_difference_of_the_last_readings() -> None:
    found = added(_reading(10.0), _reading(35.5, memory=9, changed=3), 1)
    assert found == MinuteUsage(cpu_seconds=25.5, memory_bytes=9, changed=2)


def test_what_is_not_known_is_not_guessed() -> None:
    assert added(_reading(1), None, 0) == MinuteUsage()
    assert added(None, _reading(1), 0) == MinuteUsage(memory_bytes=7)


def test_a_process_that_ended_hides_one_minutes_seconds_and_nothing_that_arrived_changed() -> None:
    assert added(_reading(100), _reading(3), 0) == MinuteUsage(memory_bytes=7)
    assert added(_reading(100), _reading(3, changed=5), 2) == MinuteUsage(memory_bytes=7, changed=3)
    assert added(_reading(1), _reading(1, changed=4), 9).changed == 4, "another canary"


def test_a_canary_that_does_not_answer_has_counted_what_it_said_last() -> None:
    now, counts = [600.0], iter([4.0, None, 4.0, 6.0])
    usage = MinuteReadings(lambda: _reading(1, changed=next(counts)), lambda: now[0], lambda: now[0])
    for now[0] in (600, 660, 720, 780):
        usage.look()
    assert [usage.of(minute).changed for minute in (10, 11, 12, 13)] == [4, 0, 0, 2]


def test_what_arrived_changed_before_the_first_look_and_between_two_is_counted_once() -> None:
    """A deployer that takes over has no readings of the dead one."""
    now, counts = [600.0], iter([1.0, 1.0, 3.0])
    usage = MinuteReadings(lambda: _reading(1, changed=next(counts)), lambda: now[0], lambda: now[0])
    for now[0] in (600, 660, 900):
        usage.look()
    assert [usage.of(minute).changed for minute in range(9, 17)] == [0, 1, 0, 0, 0, 0, 2, 0]


def test_readings_are_spaced_and_the_last_of_a_minute_counts() -> None:
    now, readings = [600.0], iter(map(float, range(100)))
    usage = MinuteReadings(lambda: _reading(next(readings)), lambda: now[0], lambda: now[0])
    for _ in _seconds(now, 120):
        usage.look()
    assert usage.of(11).cpu_seconds == 12
    assert usage.of(10).cpu_seconds is None


def _seconds(now: list[float], count: int) -> Iterator[None]:
    for _ in range(count):
        yield
        now[0] += 1


def test_the_deployer_sees_what_hifi_answers_for() -> None:
    card = MinuteCard(
        tenant="*",
        minute=5,
        settled=True,
        total=100,
        again=2,
        good=95,
        dead=4,
        customer_dead=3,
        quarantined=2,
        doubled=2,
        inside=Percentiles(p95=120.0),
    )
    found = side_minute(card, MinuteUsage(cpu_seconds=3.0, memory_bytes=9, changed=1))
    assert (found.total, found.good, found.doubled, found.changed) == (99, 95, 2, 1)
    assert found.dead == {"dead letter": 1, "quarantine": 2}
    assert (found.p95_ms, found.cpu_seconds, found.memory_bytes) == (120.0, 3.0, 9)
