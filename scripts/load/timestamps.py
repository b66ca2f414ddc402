"""RFC 3339 times at the rate of the load."""

from datetime import UTC, datetime
from functools import lru_cache


def format_ms(epoch_ms: int) -> str:
    """An RFC 3339 time with milliseconds, in UTC."""
    seconds, milliseconds = divmod(epoch_ms, 1000)
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}.{milliseconds:03d}Z"


@lru_cache(maxsize=4096)  # a batch's events mostly share one time
def parse_ms(text: str) -> int | None:
    """Epoch milliseconds of an RFC 3339 time; None where it is none or lacks its offset."""
    try:
        moment = datetime.fromisoformat(text.upper())
    except ValueError:
        return None
    return None if moment.tzinfo is None else round(moment.timestamp() * 1000)
