"""When requests that got no turn at a destination return, by how long its answers take. Pure.

Each return costs the way through retry and both lanes. So they return as fast as the destination takes them.
But it may become faster at any moment, and what waits by then should not come late.
"""

from dataclasses import dataclass, field, replace
from math import inf
from typing import Final

from shared.contracts.topics import RETRY_DELAYS
from shared.runtime.token_bucket import TokenBucket

_DELAYS: Final = [delay.total_seconds() for delay in RETRY_DELAYS.values()]
_SHORTEST: Final = _DELAYS[0]
_MIDDLE: Final = _DELAYS[1]
_LONGEST: Final = _DELAYS[-1]
"""Delays of the retry topics, seconds."""

_WEIGHT: Final = 0.1
"""Weight of the newest answer in the moving average."""


@dataclass(frozen=True, slots=True)
class SlotBacklog:
    """All times are seconds of one monotonic clock."""

    slots: int
    """Requests in flight at once."""

    average: float | None = None
    """Duration of the last answered requests; the breaker takes care of those that get no answer."""

    returning: TokenBucket = field(default_factory=lambda: TokenBucket(inf, 0.0))
    """Paces the return of requests without a turn, at the rate at which all slots together answer."""

    since: float = 0.0
    """Since when some have been on their way back, without a break."""

    def answered(self, request: float) -> "SlotBacklog":
        """The backlog after a request was answered that took `request`."""
        before = request if self.average is None else self.average
        return replace(self, average=before + _WEIGHT * (request - before))

    def booked(self, now: float) -> tuple["SlotBacklog", float]:
        """The backlog after a request was sent back, and the seconds after which it should return.

        No request waits longer than the backlog has existed, or five minutes if that is longer. So none is
        late after a short backlog, and each is sent back only a few times in a long one. A request that would
        have to wait longer books no time, and is sent back again when it returns.
        """
        behind = self.returning.wait(now)
        since = self.since if behind else now
        wait, longest = max(behind, _SHORTEST), min(max(now - since, _MIDDLE), _LONGEST)
        if wait > longest:
            return self, longest
        rate = self.slots / self.average if self.average else inf
        returning = replace(self.returning, rate=rate).after(1, now + wait)
        return replace(self, since=since, returning=returning), wait
