"""The events of a destination that wait for its next turns, and how long they should. Pure.

Each return of an event costs a way through retry and both lanes. So no more events come back in the next
seconds than the destination takes in them; those behind them wait for as long as a retry topic holds them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, groupby
from math import ceil
from typing import Final, NamedTuple

from shared.contracts.topics import RETRY_DELAYS

_DELAYS: Final = tuple(delay.total_seconds() for delay in RETRY_DELAYS.values())
_SOON: Final = int(_DELAYS[0])
_GRAIN: Final = 60.0
"""Seconds within which later returns are counted together; those of the next seconds are, by the second."""


class _Return(NamedTuple):
    """Events that come back together."""

    due: float
    """On one monotonic clock, rounded down."""

    events: int


@dataclass(frozen=True, slots=True)
class Backlog:
    """Events that were set aside, by when they come back."""

    returns: Sequence[_Return] = ()
    """In order."""


def waiting(backlog: Backlog, now: float) -> int:
    """How many events are not back yet."""
    return sum(each.events for each in _not_back(backlog, now))


def delay(backlog: Backlog, events: int, rate: float | None, now: float) -> float:
    """How long further events should wait, seconds.

    Until the first second in which the destination can take them besides those that come back before. If that
    is far away: the longest delay of a retry topic in which it is not done with the backlog, so that one that
    has become faster gets its events early rather than late. The shortest of these while its rate is unknown.
    """
    if not rate:
        return _DELAYS[0]
    if (soon := _room(list(_back_by(backlog, now)), events, rate)) is not None:
        return float(soon)
    needed = (waiting(backlog, now) + events) / rate
    return max((each for each in _DELAYS if each <= needed), default=_DELAYS[0])


def after_setting_aside(backlog: Backlog, events: int, seconds: float, now: float) -> Backlog:
    """The backlog after events were set aside for so many seconds; those that are back are left out."""
    grain = 1.0 if seconds <= _SOON else _GRAIN
    more = _Return((now + seconds) // grain * grain, events)
    ordered = sorted([*_not_back(backlog, now), more])
    together = groupby(ordered, key=lambda each: each.due)
    return Backlog(tuple(_Return(due, sum(each.events for each in some)) for due, some in together))


def _room(back_by: Sequence[int], events: int, rate: float) -> int | None:
    """The first second at which events can come back so that no later one becomes too full.

    Args:
        back_by: how many come back within 1, 2, ... seconds. A second may be too full before.
        events: how many more.
        rate: events a second that are taken.
    """
    found = None
    for seconds in range(len(back_by), 0, -1):
        ahead, most = back_by[seconds - 1], rate * seconds
        if ahead + events <= most:
            found = seconds
        elif ahead <= most:
            break
    return found


def _not_back(backlog: Backlog, now: float) -> Iterator[_Return]:
    return (each for each in backlog.returns if each.due > now)


def _back_by(backlog: Backlog, now: float) -> Iterator[int]:
    """How many events come back within 1, 2, ... seconds."""
    each_second = [0] * (_SOON + 1)
    for due, events in _not_back(backlog, now):
        if due <= now + _SOON:
            each_second[ceil(due - now)] += events
    return accumulate(each_second[1:])
