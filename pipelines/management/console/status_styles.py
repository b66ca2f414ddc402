"""Names and colours of the states of minutes and days. Pure."""

from collections.abc import Iterable, Iterator
from enum import StrEnum
from itertools import groupby
from typing import Final, NamedTuple

from shared.contracts.scorecard import MinuteFigures, MinuteMark
from shared.contracts.timestamps import DAY_MINUTES


class MinuteStatus(StrEnum):
    """The status of a minute; the value is its name on the page."""

    GOOD = "good"
    SPENT = "spent"
    OPEN = "not settled"
    EMPTY = "no events"
    AHEAD = "to come"

    @property
    def style(self) -> str:
        """The class in the style sheet."""
        return self.value.replace(" ", "-")


def state_of(minute: MinuteFigures | MinuteMark) -> MinuteStatus:
    """The status of a minute."""
    if minute.spent:
        return MinuteStatus.SPENT
    if not minute.settled:
        return MinuteStatus.OPEN
    return MinuteStatus.GOOD if minute.total else MinuteStatus.EMPTY


class Run(NamedTuple):
    """Consecutive minutes of one hour with the same status."""

    start: int
    """Minute of the day, 0 to 1,439."""

    length: int
    state: MinuteStatus


def day_states(marks: Iterable[MinuteMark], first: int, last: int) -> list[MinuteStatus]:
    """The status of each of a day's minutes; `first` is its first epoch minute, `last` the newest begun."""
    known = {mark.minute: state_of(mark) for mark in marks}
    return [
        known.get(minute, MinuteStatus.EMPTY if minute <= last else MinuteStatus.AHEAD)
        for minute in range(first, first + DAY_MINUTES)
    ]


def runs(states: list[MinuteStatus]) -> Iterator[Run]:
    """Groups consecutive minutes with the same status, within each hour."""
    at = 0
    for (_, state), members in groupby(enumerate(states), key=lambda each: (each[0] // 60, each[1])):
        length = sum(1 for _ in members)
        yield Run(at, length, state)
        at += length


THREE_NINES: Final = 3.0
_TWO_NINES: Final = 2.0


def nines_style(nines: float | None) -> str:
    """The class in the style sheet for a day with these nines."""
    if nines is None:
        return "none"
    if nines >= THREE_NINES:
        return "kept"
    return "missed" if nines >= _TWO_NINES else "far"
