"""How many requests a token, or a tenant, may send."""

import threading
from collections.abc import Callable
from typing import Final

from shared.runtime.token_bucket import TokenBucket

_BURST_SECONDS: Final = 2.0
_MOST_BUCKETS: Final = 10_000


class RateLimits:
    """One bucket for each id of a token, or name of a tenant. May be asked from any thread."""

    def __init__(self, rate: float, monotonic: Callable[[], float]) -> None:
        """`rate` is requests a second and bucket, in bursts of two seconds' worth."""
        self._full = TokenBucket(rate, _BURST_SECONDS)
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._buckets: dict[str, TokenBucket] = {}

    def wait(self, name: str) -> float:
        """Seconds that the holder of a bucket must wait; 0 lets this request pass and counts it."""
        now = self._monotonic()
        with self._lock:
            bucket = self._buckets.get(name, self._full)
            wait = bucket.wait(now, 1)
            if not wait:
                self._forget_the_full(now)
                self._buckets[name] = bucket.after(1, now)
            return wait

    def _forget_the_full(self, now: float) -> None:
        if len(self._buckets) >= _MOST_BUCKETS:
            self._buckets = {name: each for name, each in self._buckets.items() if each.paid_at > now}
