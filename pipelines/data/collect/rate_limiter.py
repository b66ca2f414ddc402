"""Limits how many events per second a source may send to this process."""

import math
from collections.abc import Callable
from typing import Final

from shared.contracts.documents import TenantName
from shared.runtime.token_bucket import TokenBucket

BURST_SECONDS: Final = 2.0
_MOST_BUCKETS: Final = 1_000

MonotonicClock = Callable[[], float]
"""Seconds."""


class RateLimiter:
    """A token bucket for each source that has a limit.

    It knows only this process: N processes behind a load balancer let up to N times the rate through.
    """

    def __init__(self, clock: MonotonicClock) -> None:
        self._clock = clock
        self._buckets: dict[TenantName, TokenBucket] = {}
        self._room = _MOST_BUCKETS
        """At so many, the full ones are forgotten."""

    def __len__(self) -> int:
        return len(self._buckets)

    def retry_after(self, source: TenantName, rate: float | None, events: int) -> int:
        """Whole seconds the sender has to wait; 0 lets the events pass, and counts them.

        After a change of its rate, a source starts with a full bucket.

        Args:
            source: its tenant and name.
            rate: events per second; None is without limit.
            events: how many are to pass at once.
        """
        if rate is None:
            return 0
        now = self._clock()
        bucket = self._bucket(source, rate)
        wait = bucket.wait(now, events)
        self._keep(source, bucket if wait else bucket.after(events, now), now)
        return math.ceil(wait)

    def charge(self, source: TenantName, rate: float | None, events: int) -> None:
        """Count events whatever the bucket holds: later ones wait for what was refused.

        Args:
            source: its tenant and name.
            rate: events per second; None is without limit.
            events: how many.
        """
        if rate is not None:
            now = self._clock()
            self._keep(source, self._bucket(source, rate).after(events, now), now)

    def _bucket(self, source: TenantName, rate: float) -> TokenBucket:
        bucket = self._buckets.get(source)
        return bucket if bucket is not None and bucket.rate == rate else TokenBucket(rate, BURST_SECONDS)

    def _keep(self, source: TenantName, bucket: TokenBucket, now: float) -> None:
        self._buckets[source] = bucket
        if len(self._buckets) > self._room:
            self._forget_the_full(now)

    def _forget_the_full(self, now: float) -> None:
        """A source without a bucket starts with a full one, as one that was deleted and applied again."""
        self._buckets = {name: each for name, each in self._buckets.items() if each.paid_at > now}
        self._room = max(_MOST_BUCKETS, 2 * len(self._buckets))
