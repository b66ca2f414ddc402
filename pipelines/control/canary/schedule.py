"""When the next request is due, and how many events it has. Pure."""

from typing import Final

_FIRST_PAUSE_SECONDS: Final = 0.5
_LONGEST_PAUSE_SECONDS: Final = 15.0


class Schedule:
    """A steady rate, with exponential backoff after failures and no catching up."""

    def __init__(self, rate: float, seconds: float) -> None:
        """`rate` events a second in requests `seconds` apart."""
        self._rate = rate
        self._seconds = seconds
        self._carry = 0.0
        self._failures = 0

    def events(self) -> int:
        """Number of events in the next request; may be 0 if the rate is below one per request."""
        self._carry += self._rate * self._seconds
        whole = int(self._carry)
        self._carry -= whole
        return whole

    def pause(self, *, taken: bool) -> float:
        """Seconds until the next request, after one that collect did or did not accept (`taken`)."""
        self._failures = 0 if taken else self._failures + 1
        return self._seconds if taken else pause_after(self._failures)


class Pause:
    """A time in which nothing is sent."""

    def __init__(self, now_ms: int, seconds: int) -> None:
        self.begin(now_ms, seconds)

    def begin(self, now_ms: int, seconds: int) -> None:
        """Pause for so many seconds from now, whatever was asked before; 0 ends a pause."""
        self._since_ms, self._until_ms = now_ms, now_ms + seconds * 1_000

    def lasts(self, now_ms: int) -> bool:
        """Whether nothing is to be sent now; a clock that is set back to before the pause ends it."""
        return self._since_ms <= now_ms < self._until_ms


def pause_after(failures: int) -> float:
    """Seconds to wait after so many failures in a row."""
    return float(min(_LONGEST_PAUSE_SECONDS, _FIRST_PAUSE_SECONDS * 2 ** min(failures - 1, 10)))
