"""Event times: RFC 3339 text to epoch milliseconds and back."""

import re
from datetime import UTC, datetime, timedelta

_RFC3339 = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-2][0-9]:[0-9]{2}:(?P<second>[0-9]{2})"
    r"(?:\.[0-9]+)?(?:[Zz]|[+-][0-9]{2}:[0-9]{2})"
)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)


def parse_time(text: str) -> int | None:
    """Epoch milliseconds (rounded down) of an RFC 3339 time, None if it is not one.

    A leap second, which RFC 3339 knows and Python does not, counts as the second before it.
    """
    found = _RFC3339.fullmatch(text)
    if found is None:
        return None
    if found["second"] == "60":
        start, end = found.span("second")
        text = f"{text[:start]}59{text[end:]}"
    try:
        return (datetime.fromisoformat(text.upper()) - _EPOCH) // _MILLISECOND
    except (ValueError, OverflowError):
        return None


def format_time(ms: int) -> str:
    """RFC 3339 in UTC, with milliseconds."""
    moment = _EPOCH + timedelta(milliseconds=ms)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
