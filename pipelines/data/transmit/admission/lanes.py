"""Which lane a destination belongs in, by the duration of its requests. Pure."""

from dataclasses import dataclass, replace
from typing import Final

from shared.contracts.receipts import Lane

_WEIGHT: Final = 0.2
"""Weight of the newest request in the moving average."""

_QUICK_IN_A_ROW: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneThresholds:
    """When a destination changes lanes. Seconds."""

    slow: float = 0.4
    """Average duration above which a destination leaves the fast lane."""

    quick: float = 0.2
    """Duration, waiting included, below which each of the last requests must be for a return."""

    stay: float = 10.0
    """Shortest stay in the slow lane; doubles after each return that was too early."""

    stay_limit: float = 600.0

    probe: float = 30.0
    """Multiple of the stay after which the fast lane tries a request by itself, having heard nothing."""

    probe_limit: float = 3600.0
    """Longest time until that."""

    between_probes: float = 10.0
    """Shortest time between two such requests of a process, to whichever destinations."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneState:
    """The lane of one destination, with what is needed to change it."""

    lane: Lane = "fast"
    average: float = 0.0
    quick: int = 0
    """Quick requests in a row."""

    since_ms: int = 0
    """Last change of lanes, epoch milliseconds."""

    stay: float = 0.0

    probing: bool = False
    """Whether the fast lane tries a request now."""


def after_request(pace: LaneState, seconds: float, now_ms: int, rules: LaneThresholds) -> LaneState:
    """The state after a request ended, with whatever result."""
    if pace.probing:
        returns = seconds <= rules.slow  # no less than the fast lane asks of the others
        return LaneState(since_ms=now_ms, stay=pace.stay) if returns else slowed(pace, now_ms, rules)
    average = pace.average + _WEIGHT * (seconds - pace.average)
    quick = pace.quick + 1 if seconds < rules.quick else 0
    if pace.lane == "fast" and average > rules.slow:
        return slowed(pace, now_ms, rules)
    if pace.lane == "slow" and quick >= _QUICK_IN_A_ROW:
        return LaneState(since_ms=now_ms, stay=pace.stay)
    return replace(pace, average=average, quick=quick)


def slowed(pace: LaneState, now_ms: int, rules: LaneThresholds) -> LaneState:
    """The state after a request took too long."""
    if pace.lane == "slow" and not pace.probing:
        return replace(pace, quick=0)
    relapsed = pace.probing or (pace.stay and now_ms - pace.since_ms < 2000 * pace.stay)
    stay = min(2 * pace.stay, rules.stay_limit) if relapsed else rules.stay
    return LaneState(lane="slow", since_ms=now_ms, stay=stay)


def looked_at(pace: LaneState, now_ms: int) -> LaneState:
    """The state now.

    A change in the future means that the clock was set back. It counts as made now, or the destination would
    keep its lane until that time comes.
    """
    return replace(pace, since_ms=min(pace.since_ms, now_ms))


def recovered(pace: LaneState, seen_ms: int) -> LaneState:
    """The state after the slow lane reported at `seen_ms` that the destination is fast again.

    Ignored during the stay: the slow lane repeats it with each request.
    """
    if pace.lane == "fast" or seen_ms - pace.since_ms < 1000 * pace.stay:
        return pace
    return LaneState(since_ms=seen_ms, stay=pace.stay)


def probe_due(pace: LaneState, now_ms: int, rules: LaneThresholds) -> bool:
    """Whether the fast lane should try a request, because a slow destination's time without news is over.

    The slow lane counts quick requests in a process that ends when it is idle: of a destination with an event
    every few minutes it never has enough to report.
    """
    wait = min(rules.probe * pace.stay, rules.probe_limit)
    return pace.lane == "slow" and not pace.probing and now_ms - pace.since_ms >= 1000 * wait


def probe_begun(pace: LaneState) -> LaneState:
    """The state while the fast lane tries a request."""
    return replace(pace, probing=True)


def probe_ended(pace: LaneState) -> LaneState:
    """The state after that; if the request showed nothing, another one is due."""
    return replace(pace, probing=False)
