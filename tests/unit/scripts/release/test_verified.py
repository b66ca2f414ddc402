"""When a side that was just released may have traffic."""

from typing import Final

from scripts.release.verified import EVENTS, unproven
from shared.runtime.metrics import CanaryMetric

GOOD: Final = {"plain": EVENTS, "masks": EVENTS + 5}


def metrics(
    arrived: dict[str, int], wrong: dict[str, int] | None = None, missing: dict[str, int] | None = None
) -> str:
    named = {
        CanaryMetric.ARRIVED + "_total": arrived,
        CanaryMetric.WRONG + "_total": wrong or dict.fromkeys(arrived, 0),
        CanaryMetric.MISSING: missing or dict.fromkeys(arrived, 0),
    }
    lines = [
        f'{name}{{pipe="{pipe}"}} {count}' for name, pipes in named.items() for pipe, count in pipes.items()
    ]
    return "\n".join([*lines, ""])


def test_events_of_every_pipe_that_arrived_as_they_should_prove_a_side() -> None:
    assert unproven(metrics(GOOD)) == []


def test_a_pipe_with_too_few_events_is_named() -> None:
    assert unproven(metrics(GOOD | {"plain": 3})) == [f"plain: 3 of {EVENTS} events arrived"]


def test_a_changed_or_missing_event_keeps_the_traffic_away() -> None:
    assert unproven(metrics(GOOD, wrong={"masks": 1})) == ["masks: 1 events arrived changed"]
    assert unproven(metrics(GOOD, missing={"plain": 2})) == ["plain: 2 acknowledged events are missing"]


def test_a_canary_that_is_silent_proves_nothing() -> None:
    assert unproven("") == ["the canary names no pipe"]
