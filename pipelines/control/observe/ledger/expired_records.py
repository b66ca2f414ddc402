"""How far back nothing can be proven, because records expired before audit counted them."""

from typing import NamedTuple

from pipelines.control.observe.ledger.minute_sums import Partition
from shared.contracts.topics import Topic, retention
from shared.runtime.logging import get_logger

_log = get_logger(__name__)


class Uncounted(NamedTuple):
    """Records of a partition that are in no range of the ledger, and are not there any more."""

    place: Partition
    start: int
    """Offset of the first of them."""

    end: int
    """One past the last of them."""

    last_ms: int
    """Time of the newest record before them, epoch milliseconds."""

    next_ms: int | None = None
    """Time of a record behind them, if one is known, epoch milliseconds."""


class ExpiredRecords:
    """Belongs to one thread.

    What retention deleted is older than that: younger minutes are judged as ever. So are all if the records
    before were younger, too, since then it was not retention.
    """

    def __init__(self) -> None:
        self.to_ms = 0
        """Records until this time may have expired uncounted, epoch milliseconds; 0 if none did."""

        self._seen: dict[Partition, tuple[int, int]] = {}

    def note(self, found: Uncounted, now_ms: int) -> None:
        """Records that were not counted were gone at `now_ms`; the same ones noted again change nothing."""
        expired_ms, before = _expired_ms(found, now_ms), self._seen.get(found.place)
        if before == (found.start, found.end) or found.last_ms > expired_ms:
            return
        self._seen[found.place] = found.start, found.end
        self.to_ms = max(self.to_ms, expired_ms)
        if before is None or before[0] != found.start:
            topic, partition = found.place
            _log.error(
                "records expired before audit counted them: nothing is proven lost or doubled in minutes "
                "that are as old; see docs/meter.md",
                extra={"topic": topic, "partition": partition, "start": found.start, "end": found.end},
            )


def _expired_ms(found: Uncounted, now_ms: int) -> int:
    """A time before which all of them were written; 0 if they never expire."""
    kept = retention(Topic(found.place[0]))
    if kept is None:
        return 0
    expired_ms = now_ms - int(kept.total_seconds() * 1_000)
    return expired_ms if found.next_ms is None else min(expired_ms, found.next_ms)
