"""Formats figures with their units, and times in UTC. Pure."""

from datetime import UTC, datetime
from typing import Final, NamedTuple

from shared.contracts.cut import cut, cut_short

NONE: Final = "\u2013"
"""Shown where there is no figure."""

_LEAST_PERCENT: Final = 0.001
_MINUS: Final = "\u2212"
_UNITS: Final = (("d", 86_400), ("h", 3600), ("min", 60), ("s", 1))


class Figure(NamedTuple):
    """A number as text, and its unit."""

    text: str
    unit: str

    def __str__(self) -> str:
        return f"{self.text} {self.unit}"


def count(number: int) -> str:
    """1,234,567."""
    return f"{number:,}".replace("-", _MINUS)


def counted(number: int, noun: str) -> str:
    """`1 event`, `2 events`."""
    return f"{count(number)} {noun}{'' if number == 1 else 's'}"


def rate(events: float | None) -> Figure:
    """Events a second; one decimal below a hundred."""
    if events is None:
        return Figure(NONE, "events/s")
    return Figure(f"{events:,.1f}" if events < 100 else f"{events:,.0f}", "events/s")


def lag(milliseconds: float | None) -> Figure:
    """A lag; one decimal below ten milliseconds."""
    if milliseconds is None:
        return Figure(NONE, "ms")
    return Figure(f"{milliseconds:,.1f}" if milliseconds < 10 else f"{milliseconds:,.0f}", "ms")


def percent(value: float) -> Figure:
    """A percentage; a value above 0 is never shown as 0, and one below 100 never as 100."""
    if 0 < value < _LEAST_PERCENT:
        return Figure(f"<{_LEAST_PERCENT}", "%")
    if 100 - _LEAST_PERCENT < value < 100:
        return Figure(f">{100 - _LEAST_PERCENT}", "%")
    return Figure(f"{value:,.3f}".rstrip("0").rstrip("."), "%")


def good_share(value: float | None) -> Figure:
    """A share of good events between 0 and 1, as a percentage; cut and never rounded up."""
    return Figure(NONE if value is None else cut_short(100 * value, 3), "%")


def share(value: float | None) -> Figure:
    """A share between 0 and 1, as a percentage."""
    return Figure(NONE, "%") if value is None else percent(value * 100)


def nines(value: float | None) -> Figure:
    """Nines of a day to one decimal, cut and never rounded up."""
    return Figure(NONE, "nines") if value is None else Figure(cut(value, 1), "nines")


def minutes_left(value: float | None) -> Figure:
    """Minutes left of the day's budget; negative if more were spent."""
    if value is None:
        return Figure(NONE, "min")
    return Figure(f"{value:.2f}".replace("-", _MINUS), "min")


def duration(seconds: float) -> str:
    """`42 s`, `3 min 5 s`, `2 h 10 min`, `3 d 4 h`: the two largest units."""
    rest, parts = max(0, round(seconds)), []
    for unit, size in _UNITS:
        amount, rest = divmod(rest, size)
        if amount:
            parts.append(f"{amount} {unit}")
    return " ".join(parts[:2]) or "0 s"


def beginning(text: str, most: int) -> str:
    """The beginning of a text, and how much more there is."""
    more = len(text) - most
    return text if more <= 0 else f"{text[:most]} … {more:,} more characters"


def clock_time(at_ms: int) -> str:
    """`14:03:05`, UTC."""
    return f"{_time(at_ms / 1000):%H:%M:%S}"


def clock_minute(minute: int) -> str:
    """`14:03`, UTC, of an epoch minute."""
    return f"{_time(minute * 60):%H:%M}"


def moment(at_ms: int) -> str:
    """`2026-11-22 14:03`, UTC."""
    return f"{_time(at_ms / 1000):%Y-%m-%d %H:%M}"


def named_time(at_ms: int) -> str:
    """`14:03:05 UTC`, where nothing around it says UTC."""
    return f"{clock_time(at_ms)} UTC"


def named_moment(at_ms: int) -> str:
    """`2026-11-22 14:03 UTC`, where nothing around it says UTC."""
    return f"{moment(at_ms)} UTC"


def exact_moment(at_ms: int) -> str:
    """`2026-11-22 14:03:05`, UTC."""
    return f"{_time(at_ms / 1000):%Y-%m-%d %H:%M:%S}"


def day_of(minute: int) -> str:
    """`2026-11-22`, of an epoch minute."""
    return f"{_time(minute * 60):%Y-%m-%d}"


def first_minute(day: str) -> int:
    """The epoch minute that a day begins with.

    Raises:
        ValueError: if the day is not one as `YYYY-MM-DD`.
    """
    return int(datetime.fromisoformat(day).replace(tzinfo=UTC).timestamp()) // 60


def _time(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)
