"""How far audit, and with it observe, is behind the topics. Pure."""

from collections.abc import Mapping
from typing import Final

from pipelines.control.observe.ledger.watermarks import OffsetsSnapshot, Partition
from shared.contracts.topics import TALLIED

_MOST: Final = 128

Sample = tuple[int, int]
"""A time, epoch milliseconds, and the end offset of the partition then."""


class Staleness:
    """The age of the oldest unread record, as exact as the interval between two snapshots."""

    def __init__(self, begun_ms: int) -> None:
        """`begun_ms` is when observe began to look, epoch milliseconds."""
        self._begun_ms = begun_ms
        self._samples: dict[Partition, list[Sample]] = {}
        self._seen_ms: int | None = None

    @property
    def fresh(self) -> bool:
        """Whether there was no snapshot yet; the first one then needs the ages of older records."""
        return self._seen_ms is None

    def resume(self, read_to_ms: int) -> None:
        """Go on from when an earlier process had read everything, epoch milliseconds; 0 if unknown."""
        if read_to_ms:
            self._begun_ms = min(self._begun_ms, read_to_ms)

    def set_back(self, now_ms: int) -> None:
        """The clock was set back to now: nothing was seen later."""
        self._begun_ms = min(self._begun_ms, now_ms)
        self._seen_ms = None if self._seen_ms is None else min(self._seen_ms, now_ms)
        self._samples = {
            place: [(min(at_ms, now_ms), end) for at_ms, end in samples]
            for place, samples in self._samples.items()
        }

    def take(self, look: OffsetsSnapshot, ages: Mapping[Partition, int]) -> None:
        """Take the next snapshot. `ages` is when each first unread record was written, epoch ms, if known."""
        for place, end in look.ends_of(TALLIED).items():
            covered = look.covered.get(place, 0)
            # a sample beyond the end is of a topic that was recreated since
            left = [sample for sample in self._samples.get(place, ()) if covered < sample[1] <= end]
            if end > covered and (not left or left[-1][1] < end):
                left.append((ages.get(place, look.at_ms), end))
            self._samples[place] = left if len(left) < _MOST else left[::2] + left[-1:]
        self._seen_ms = look.at_ms

    def seconds(self, now_ms: int, patience_ms: int) -> float:
        """Seconds behind; after `patience_ms` without a snapshot, at least the time since the last one.

        Before the first one it is the time since observe began, or since an earlier process had read
        everything.
        """
        if self._seen_ms is None:
            return max(0, now_ms - self._begun_ms) / 1000
        since = [samples[0][0] for samples in self._samples.values() if samples]
        if now_ms - self._seen_ms > patience_ms:
            since.append(self._seen_ms)
        return max(0, now_ms - min(since)) / 1000 if since else 0.0
