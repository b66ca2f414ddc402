"""The Retry-After header. Pure."""

from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import Final

_SHOWN_DIGITS: Final = 9
"""Digits that are parsed: more would be over thirty years."""


def retry_after_seconds(value: str | None, now_ms: int) -> float | None:
    """The seconds in a Retry-After header (RFC 9110, 10.2.3); None if it is missing or not valid."""
    text = (value or "").strip()
    if text.isascii() and text.isdigit():
        return float(text[:_SHOWN_DIGITS]) if len(text) <= _SHOWN_DIGITS else 1e9
    try:
        date = parsedate_to_datetime(text)
        moment = date if date.tzinfo else date.replace(tzinfo=UTC)
        return max(0.0, moment.timestamp() - now_ms / 1000)
    except (ValueError, TypeError, OverflowError, IndexError):
        return None
