"""Parses and checks the parameters of requests. Pure."""

from datetime import UTC, date, datetime
from typing import Final

from shared.contracts.envelope import MINUTE_MS
from shared.contracts.scorecard import ALL_TENANTS
from shared.contracts.timestamps import DAY_MINUTES, FIRST_DAY

MOST_DAYS: Final = 400
_MOST_TEXT: Final = 256
_LAST_MINUTE: Final = 253_402_300_799 // 60
"""Last epoch minute of the year 9999, the last year that a date can hold."""


class BadParameterError(Exception):
    """A parameter that cannot be used; the text names it and the fix."""


class UnavailableError(Exception):
    """Data that an answer needs cannot be reached just now; the text says which and why."""


class BusyError(Exception):
    """Too many of an expensive kind of query run already."""


def tenant(text: str | None) -> str:
    """A tenant's name, or all of them where none is given."""
    if text is not None and not 0 < len(text) <= _MOST_TEXT:
        raise BadParameterError(
            f"tenant: give a tenant's name, at most {_MOST_TEXT} characters, or leave it out"
        )
    return ALL_TENANTS if text is None else text


def number(name: str, text: str | None, default: int, least: int, most: int) -> int:
    """A whole number.

    Raises:
        BadParameterError: if it is not one, or is outside the bounds.
    """
    if text is None:
        return default
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdigit() and len(digits) < 16 and least <= int(text) <= most):
        raise BadParameterError(f"{name}: give a whole number from {least} to {most}, not {text[:40]!r}")
    return int(text)


def minute(name: str, text: str | None, default: int) -> int:
    """An epoch minute.

    Raises:
        BadParameterError: if it is not one.
    """
    return number(name, text, default, 0, _LAST_MINUTE)


def minutes(first: str | None, last: str | None, now_ms: int) -> tuple[int, int]:
    """The first and the last minute of a query; by default the last hour.

    Raises:
        BadParameterError: if they are not minutes, in the wrong order, or more than a day apart.
    """
    until = minute("to", last, now_ms // MINUTE_MS)
    since = minute("from", first, max(0, until - 59))
    if not 0 <= until - since < DAY_MINUTES:
        raise BadParameterError(
            f"from, to: epoch minutes, from <= to, at most {DAY_MINUTES:,} minutes; not {since} and {until}"
        )
    return since, until


def day(text: str) -> date:
    """A date.

    Raises:
        BadParameterError: if it is not one, or has no epoch minutes.
    """
    try:
        found = datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=UTC).date()
    except ValueError:
        raise BadParameterError(f"day: write it YYYY-MM-DD, such as 2026-01-31, not {text[:40]!r}") from None
    if found < FIRST_DAY:
        raise BadParameterError(f"day: give one from {FIRST_DAY} on, not {text[:40]!r}")
    return found


def flag(name: str, text: str | None) -> bool | None:
    """True, false, or None where nothing was said.

    Raises:
        BadParameterError: if it is neither.
    """
    known = {None: None, "true": True, "1": True, "false": False, "0": False}
    if text not in known:
        raise BadParameterError(f"{name}: give true or false, not {str(text)[:40]!r}")
    return known[text]
