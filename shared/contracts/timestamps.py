"""Event times: RFC 3339 text to epoch milliseconds and back; epoch minutes to days (UTC) and back."""

import re
from datetime import UTC, date, datetime, timedelta
from typing import Final

from shared.contracts.envelope import DAY_MS

_RFC3339: Final = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-2][0-9]:[0-9]{2}:[0-9]{2}(?:\.[0-9]+)?(?:[Zz]|[+-][0-9]{2}:[0-9]{2})"
)
_SECOND: Final = slice(17, 19)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
FIRST_DAY: Final = date(1970, 1, 1)
"""First day of the epoch: earlier days have no epoch minutes."""

DAY_MINUTES: Final = 1_440


def parse_time(text: str) -> int | None:
    """Epoch milliseconds (rounded down) of an RFC 3339 time, None if it is not one.

    A leap second, which RFC 3339 knows and Python does not, counts as the second before it.
    """
    if _RFC3339.fullmatch(text) is None:
        return None
    if text[_SECOND] == "60":
        text = f"{text[: _SECOND.start]}59{text[_SECOND.stop :]}"
    try:
        since = datetime.fromisoformat(text.upper()) - _EPOCH
    except (ValueError, OverflowError):
        return None
    # A division of the whole would take as long as all of the above.
    return since.days * DAY_MS + since.seconds * 1_000 + since.microseconds // 1_000


def format_time(ms: int) -> str:
    """RFC 3339 in UTC, with milliseconds."""
    moment = _EPOCH + timedelta(milliseconds=ms)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def first_minute(of: date) -> int:
    """The epoch minute that a day (UTC) begins with."""
    return (of - FIRST_DAY).days * DAY_MINUTES


def day_of(epoch_minute: int) -> date:
    """The day (UTC) of an epoch minute."""
    return FIRST_DAY + timedelta(days=epoch_minute // DAY_MINUTES)
