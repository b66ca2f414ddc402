"""A destination with more events than it takes leaves the slow lane to the others, at its full rate.

A twentieth of the usual numbers: a micro-batch has 250 events at most, and most destinations have one slot.
"""

from collections.abc import Callable, Iterator
from itertools import cycle

import pytest

from shared.contracts.documents import Batch, Destination, Limits
from tests.unit.pipelines.data.transmit.slow_lane import CONNECTOR, TENANT, Far, SlowLane, every
from tests.unit.pipelines.data.transmit.virtual_time import run

MOST = 250
MINUTE = 60.0
HOUR = 60 * MINUTE


def destination(name: str, slots: int = 1, rate: float | None = None) -> Destination:
    return Destination(
        name=name,
        tenant=TENANT,
        connector=CONNECTOR,
        options={},
        batch=Batch(max_events=1),
        timeout_seconds=10.0,
        limits=Limits(requests=slots, rate=rate),
    )


def always(seconds: float) -> Callable[[], float]:
    return lambda: seconds


def in_turn(*seconds: float) -> Callable[[], float]:
    answers: Iterator[float] = cycle(seconds)
    return lambda: next(answers)


@pytest.mark.parametrize("seconds", [15 * MINUTE, pytest.param(HOUR, marks=pytest.mark.proof)])
def test_events_of_others_are_sent_at_once_beside_one_that_gets_more_than_it_takes(seconds: float) -> None:
    async def scene() -> None:
        far = Far({"much": always(1.0), "other": always(0.5)})
        lane = SlowLane(far, destination("much"), destination("other"), most=MOST)
        await lane.run(seconds, every(0.2, "much", seconds), every(MINUTE, "other", seconds))
        assert max(lane.lags("other")) <= 10.0
        assert lane.longest <= 4.0, "two seconds and two answers"
        assert len(lane.delivered["much"]) >= 0.9 * seconds, "it is sent what it takes, an event a second"
        assert lane.waiting.added <= 3 * len(lane.arrived["much"]), "each comes back a few times only"

    run(scene())


def test_events_of_others_are_sent_soon_beside_a_burst_above_the_rate() -> None:
    async def scene() -> None:
        rate, count = 10.0, 2_500
        far = Far({"burst": always(0.01), "other": always(0.5)})
        lane = SlowLane(far, destination("burst", rate=rate), destination("other"), most=MOST)
        needed = 1.05 * count / rate + MINUTE
        await lane.run(needed, every(0.0001, "burst", count * 0.0001), every(20.0, "other", needed))
        assert max(lane.lags("other")) <= 30.0, "as long as it takes to read the burst"
        assert max(lane.lags("other")[3:]) <= 10.0
        assert len(lane.delivered["burst"]) == len(lane.arrived["burst"])

    run(scene())


def test_a_destination_that_keeps_up_gets_its_events_beside_a_slow_one() -> None:
    async def scene() -> None:
        far = Far({"good": always(0.5), "late": always(7.0)})
        lane = SlowLane(far, destination("good"), destination("late"), most=MOST)
        await lane.run(5 * MINUTE, every(0.6, "good", 5 * MINUTE), every(1.0, "late", 5 * MINUTE))
        assert len(lane.delivered["good"]) >= 0.9 * len(lane.arrived["good"])

    run(scene())


def test_one_whose_answers_vary_in_length_keeps_its_share() -> None:
    async def scene() -> None:
        seconds = [0.1] * 7 + [4.0]
        far = Far({"much": in_turn(*seconds)})
        lane = SlowLane(far, destination("much", slots=2), most=MOST)
        await lane.run(10 * MINUTE, every(0.1, "much", 10 * MINUTE))
        taken = 2 * len(seconds) / sum(seconds)
        assert len(lane.delivered["much"]) >= 0.7 * taken * 10 * MINUTE

    run(scene())


@pytest.mark.parametrize("count", [300, 3_000])
def test_what_waits_is_sent_soon_after_the_destination_has_become_quick(count: int) -> None:
    async def scene() -> None:
        seconds = 5.0
        far = Far({"much": lambda: seconds})
        lane = SlowLane(far, destination("much"), most=MOST)
        await lane.run(MINUTE, every(MINUTE / count, "much", MINUTE))
        seconds = 0.01
        await lane.run(6 * MINUTE)
        assert len(lane.delivered["much"]) == count

    run(scene())


def test_a_backlog_is_sent_to_its_end_in_about_the_time_that_it_takes() -> None:
    async def scene() -> None:
        far, count = Far({"much": always(1.0)}), 1_200
        lane = SlowLane(far, destination("much"), most=MOST)
        await lane.run(1.15 * count + MINUTE, every(0.0001, "much", count * 0.0001))
        assert len(lane.delivered["much"]) == len(lane.arrived["much"])

    run(scene())
