"""How far audit, and with it observe, is behind the topics. Pure."""

from collections.abc import Mapping
from typing import Final

from pipelines.control.observe.ledger.watermarks import OffsetsSnapshot, Partition
from shared.contracts.topics import TALLIED

_MOST: Final = 128

Sample = tuple[int, int]
"""A moment, epoch milliseconds, and where the partition ended then."""


class Staleness:
    """Told of each look, it tells the age of the oldest record that is not read, to one look's length."""

    def __init__(self) -> None:
        self._samples: dict[Partition, list[Sample]] = {}
        self._seen_ms: int | None = None

    @property
    def fresh(self) -> bool:
        """Whether there was no look yet: then the ages of records that were there before have to be told."""
        return self._seen_ms is None

    def take(self, look: OffsetsSnapshot, ages: Mapping[Partition, int]) -> None:
        """`ages` tells when the first record that is not read was written, epoch milliseconds, if known."""
        for place, end in look.ends_of(TALLIED).items():
            covered = look.covered.get(place, 0)
            left = [sample for sample in self._samples.get(place, ()) if sample[1] > covered]
            if end > covered and (not left or left[-1][1] < end):
                left.append((ages.get(place, look.at_ms), end))
            self._samples[place] = left if len(left) < _MOST else left[::2] + left[-1:]
        self._seen_ms = look.at_ms

    def seconds(self, now_ms: int, patience_ms: int) -> float:
        """Behind by so much; where nobody could look for longer than `patience_ms`, at least since then."""
        since = [samples[0][0] for samples in self._samples.values() if samples]
        if self._seen_ms is not None and now_ms - self._seen_ms > patience_ms:
            since.append(self._seen_ms)
        return max(0, now_ms - min(since)) / 1000 if since else 0.0
