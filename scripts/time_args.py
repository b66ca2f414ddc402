"""Times and durations on the command line. Pure."""

import re
from datetime import UTC, datetime
from typing import Final

_AGO: Final = re.compile(r"(\d{1,6})(s|m|h|d)")
_SECONDS: Final = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}


def moment_ms(text: str, now_ms: int) -> int:
    """Epoch milliseconds of `90s`, `15m`, `2h`, `3d` ago, or of an ISO 8601 time; one without offset is UTC.

    Raises:
        ValueError: if the text is neither; the message shows the forms.
    """
    if ago := _AGO.fullmatch(text.strip()):
        return now_ms - int(ago[1]) * _SECONDS[ago[2]] * 1000
    try:
        found = datetime.fromisoformat(text.strip())
    except ValueError as error:
        raise ValueError(f"{text!r} is not a time: write 90s, 15m, 2h, 3d or 2026-01-31T12:00:00Z") from error
    return int((found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp() * 1000)


def duration_seconds(text: str) -> int:
    """Seconds of `90s`, `15m`, `2h`, `3d`.

    Raises:
        ValueError: if the text is none of these; the message shows the forms.
    """
    found = _AGO.fullmatch(text.strip())
    if found is None or not int(found[1]):
        raise ValueError(f"{text!r} is not a duration: write 90s, 15m, 2h or 3d")
    return int(found[1]) * _SECONDS[found[2]]


def utc_text(at_ms: int) -> str:
    """A time in UTC, to the second."""
    return datetime.fromtimestamp(at_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")


def duration_text(seconds: float) -> str:
    """A duration in its two largest units: `42s`, `5m03s`, `2h10m`, `3d04h`."""
    whole = max(0, int(seconds))
    if whole < 60:
        return f"{whole}s"
    if whole < 3_600:
        return f"{whole // 60}m{whole % 60:02}s"
    if whole < 86_400:
        return f"{whole // 3_600}h{whole % 3_600 // 60:02}m"
    return f"{whole // 86_400}d{whole % 86_400 // 3_600:02}h"
