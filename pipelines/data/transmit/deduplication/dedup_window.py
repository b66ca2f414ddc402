"""Keys of recent deliveries, within bounded memory."""

import os
from typing import Final

from shared.contracts.receipts import KEY_BYTES

_BUCKETS: Final = 1 << 16
_SALT_BYTES: Final = 8


class KeySet:
    """A set of 16-byte keys in about 25 bytes each; a `set` of `bytes` takes 110.

    Keys lie end to end in one of 65,536 byte strings, which a scan of a few hundred bytes searches. The
    bucket is chosen by a salted hash, so that event ids cannot be chosen to fall into one bucket.
    """

    def __init__(self) -> None:
        self._buckets: list[bytearray | None] = [None] * _BUCKETS
        self._salt = os.urandom(_SALT_BYTES)
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def __contains__(self, key: bytes) -> bool:
        bucket = self._buckets[hash(self._salt + key) % _BUCKETS]
        return bucket is not None and _holds(bucket, key)

    def add(self, key: bytes) -> None:
        """Add a key; adding it again changes nothing."""
        at = hash(self._salt + key) % _BUCKETS
        bucket = self._buckets[at]
        if bucket is None:
            self._buckets[at] = bytearray(key)
        elif _holds(bucket, key):
            return
        else:
            bucket += key
        self._count += 1

    def clear(self) -> None:
        """Remove all keys. The list of buckets stays the same object, which `gc.freeze` has excluded."""
        self._buckets[:] = [None] * _BUCKETS
        self._count = 0


def _holds(bucket: bytearray, key: bytes) -> bool:
    found = bucket.find(key)
    while found > 0 and found % KEY_BYTES:  # a match across two keys does not count
        found = bucket.find(key, found + 1)
    return found >= 0


class DedupWindow:
    """Recent delivery keys in two generations; when the newer one is full or old, the older one is dropped.

    Time is that of the deliveries: while nothing is delivered nothing is dropped, so a side that stood still
    for an hour still knows its last deliveries. A key is kept for at least `window_ms`, unless more than
    `entries` were delivered in that time. Of a delivery in the future the clock was ahead, and has been set
    back: time goes on from now, or nothing would be dropped until then.

    The two sets are reused for ever: Spark collects garbage after each task, and lists made after
    `spare_collector` was called would cost 5 ms each time.
    """

    def __init__(self, window_ms: int, entries: int) -> None:
        self._window_ms = window_ms
        self._entries = entries
        self._now_ms = 0
        self._since_ms = 0
        self._new = KeySet()
        self._old = KeySet()

    def __len__(self) -> int:
        return len(self._new) + len(self._old)

    def __contains__(self, key: bytes) -> bool:
        return key in self._new or key in self._old

    def add(self, key: bytes, at_ms: int, now_ms: int) -> None:
        """Add a delivery made at `at_ms`, in any order; it is now `now_ms`. Epoch milliseconds."""
        self._now_ms = min(max(self._now_ms, at_ms), now_ms)
        self._since_ms = min(self._since_ms, self._now_ms)
        if not len(self._new):
            self._since_ms = self._now_ms
        elif self._now_ms - self._since_ms >= self._window_ms or len(self._new) >= self._entries:
            self._old, self._new = self._new, self._old
            self._new.clear()
            self._since_ms = self._now_ms
        self._new.add(key)
