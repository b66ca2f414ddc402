"""The turn of one destination in one micro-batch of the slow lane: which requests may still start. Pure.

Times are seconds of one monotonic clock.
"""

from dataclasses import dataclass, replace
from typing import Final, Literal

from pipelines.data.transmit.admission.throughput import Throughput, TurnResult, allowance

_LEAST_SHARE: Final = 0.5
"""Share of the window in which requests may start, however long the destination takes for one."""

Admittance = Literal["go", "wait", "over"]
"""`wait` means until a request ends; `over`: not in this micro-batch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnWindow:
    """One turn, with what has happened in it."""

    opened: float
    closes: float
    """No request but the first starts from here on."""

    allowance: float
    """Events that may be sent side by side; beyond it one request at a time."""

    probing: bool = False
    """Whether one request may exceed the allowance."""

    admitted: int = 0
    """Events of the requests that have started."""

    under_way: int = 0
    """Requests."""

    answered: float | None = None
    """When the last answer was in."""

    taken: int = 0
    """Events."""

    quickest: float | None = None
    limited: bool = False


def opened(known: Throughput, window: float, now: float) -> TurnWindow:
    """A turn that begins now.

    Its requests start so early that their answers are in when `window` seconds are over, if the destination
    takes less than half of that for one.
    """
    starts = max(window - known.quickest, _LEAST_SHARE * window)
    may = allowance(known, window)
    return TurnWindow(opened=now, closes=now + starts, allowance=may, probing=known.probing)


def admittance(turn: TurnWindow, events: int, now: float) -> Admittance:
    """Whether a request of so many events may start now.

    The first of a turn always may, so no destination is left out, and one that has recovered can show it.
    """
    if not turn.admitted:
        return "go"
    if now >= turn.closes:
        return "over"
    fits = turn.admitted + events <= turn.allowance
    probe = turn.probing and turn.admitted <= turn.allowance
    return "go" if fits or probe or not turn.under_way else "wait"


def started(turn: TurnWindow, events: int) -> TurnWindow:
    """The turn after a request was admitted."""
    return replace(turn, admitted=turn.admitted + events, under_way=turn.under_way + 1)


def answered(turn: TurnWindow, taken: int, seconds: float, now: float) -> TurnWindow:
    """The turn after the answer to a request, which took so many seconds."""
    quickest = turn.quickest
    if taken:
        quickest = seconds if quickest is None else min(quickest, seconds)
    return replace(turn, taken=turn.taken + taken, quickest=quickest, answered=now)


def ended(turn: TurnWindow) -> TurnWindow:
    """The turn after a request ended, answered or not; it may be one of a cancelled micro-batch."""
    return replace(turn, under_way=max(0, turn.under_way - 1))


def limited(turn: TurnWindow) -> TurnWindow:
    """The turn after events were set aside."""
    return replace(turn, limited=True)


def result(turn: TurnWindow) -> TurnResult | None:
    """What a turn has shown so far; None if nothing was answered in it."""
    if turn.answered is None:
        return None
    seconds = turn.answered - turn.opened
    return TurnResult(taken=turn.taken, seconds=seconds, quickest=turn.quickest, limited=turn.limited)
