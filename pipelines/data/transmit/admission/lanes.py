"""Which lane a destination belongs in, by how long its requests take. Pure. Epoch milliseconds, seconds."""

from dataclasses import dataclass, replace
from typing import Final

from shared.contracts.receipts import Lane

_WEIGHT: Final = 0.2
"""Of the newest request in the moving average."""

_QUICK_IN_A_ROW: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneThresholds:
    """What is slow. Seconds."""

    slow: float = 0.4
    """A destination that takes longer on average leaves the fast lane."""

    quick: float = 0.2
    """One whose last requests took less than this each, turn included, may come back."""

    stay: float = 10.0
    """In the slow lane, at least; twice as long after each return that came too early."""

    stay_limit: float = 600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneState:
    """Of one destination."""

    lane: Lane = "fast"
    average: float = 0.0
    quick: int = 0
    """Requests in a row that were."""

    since_ms: int = 0
    """Last change of lanes."""

    stay: float = 0.0


def after_request(pace: LaneState, seconds: float, now_ms: int, rules: LaneThresholds) -> LaneState:
    """The pace after a request that came to an end, whichever."""
    average = pace.average + _WEIGHT * (seconds - pace.average)
    quick = pace.quick + 1 if seconds < rules.quick else 0
    if pace.lane == "fast" and average > rules.slow:
        return slowed(pace, now_ms, rules)
    if pace.lane == "slow" and quick >= _QUICK_IN_A_ROW:
        return LaneState(since_ms=now_ms, stay=pace.stay)
    return replace(pace, average=average, quick=quick)


def slowed(pace: LaneState, now_ms: int, rules: LaneThresholds) -> LaneState:
    """The pace of a destination that let a request wait too long."""
    if pace.lane == "slow":
        return replace(pace, quick=0)
    relapsed = pace.stay and now_ms - pace.since_ms < 2000 * pace.stay
    stay = min(2 * pace.stay, rules.stay_limit) if relapsed else rules.stay
    return LaneState(lane="slow", since_ms=now_ms, stay=stay)


def recovered(pace: LaneState, seen_ms: int) -> LaneState:
    """The pace after the slow lane said, at `seen_ms`, that the destination is quick again.

    Ignored while the stay lasts: it will be said again with each request.
    """
    if pace.lane == "fast" or seen_ms - pace.since_ms < 1000 * pace.stay:
        return pace
    return LaneState(since_ms=seen_ms, stay=pace.stay)
