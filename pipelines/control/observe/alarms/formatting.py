"""Formats figures for the texts of alarms. Pure."""

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Final

from shared.contracts.alarms import Alarm
from shared.contracts.envelope import MINUTE_MS

MOST_LISTED: Final = 3


def moment(minute: int) -> str:
    """An epoch minute as date and time, UTC."""
    return datetime.fromtimestamp(minute * MINUTE_MS / 1000, UTC).strftime("%Y-%m-%d %H:%M UTC")


def percent(share: float) -> str:
    """A share (0 to 1) as a percentage; a share above 0 is never shown as 0 %."""
    value = share * 100
    if not value:
        return "0 %"
    return f"{value:.2f} %" if value >= 0.01 else f"{value:.1g} %"


def counted(count: int, one: str, many: str = "") -> str:
    """A count with its noun, singular or plural."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def listed(texts: Iterable[str], most: int = MOST_LISTED) -> str:
    """The first `most` texts, and how many more there are."""
    every = list(texts)
    more = len(every) - most
    return ", ".join(every[:most]) + (f" and {more:,} more" if more > 0 else "")


def with_remedy(what: str, cause: str, fix: str) -> str:
    """The text of an alarm that names its likely cause and the fix."""
    return f"{what}: {cause}: {fix}"


def without_remedy(alarm: Alarm) -> str:
    """The text of an alarm without cause and fix."""
    return alarm.text.removesuffix(with_remedy("", alarm.cause, alarm.fix))
