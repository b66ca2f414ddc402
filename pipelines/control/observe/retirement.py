"""Stores minutes, and lets those leave memory that are complete: while observe catches up, and ever after.

A minute that is older than states are kept, by what is read of `collected`, may leave if nothing is missing
or extra in it for any tenant. That needs no proof, so it holds while audit catches up, too. Any other minute
may leave once it is judged for good.
"""

from collections.abc import Callable, Collection, Mapping
from typing import Final

from pipelines.control.observe.ledger.minute_sums import Partition
from pipelines.control.observe.ledger.watermarks import OffsetsSnapshot
from pipelines.control.observe.scorecards.day_state import DayState
from pipelines.control.observe.scorecards.ledger_state import TalliedUpTo
from pipelines.control.observe.scorecards.minute_state import MinuteTracker
from pipelines.control.observe.skew.watched_hours import HOUR_MINUTES
from pipelines.control.observe.storage.persistence import Persistence
from shared.contracts.envelope import MINUTE_MS
from shared.contracts.topics import Topic

MOST_NEW: Final = 1_000
"""States that may be added to memory before they are stored and old ones retired: about 95 MB."""


class Retirement:
    """Belongs to the thread of the control loop."""

    def __init__(
        self,
        *,
        tracker: MinuteTracker,
        days: DayState,
        persistence: Persistence,
        keep_hours: int,
        most_new: int = MOST_NEW,
    ) -> None:
        self._tracker, self._days, self._persistence = tracker, days, persistence
        self._keep_minutes, self._most_new = keep_hours * HOUR_MINUTES, most_new
        self._stored_states = 0
        self.begin()

    def begin(self) -> None:
        """Count new states from those that are in memory now, which are stored."""
        self._stored_states = len(self._tracker.ledger.minutes)

    @property
    def full(self) -> bool:
        """Whether memory holds as many states as may be added to it before they are stored."""
        return len(self._tracker.ledger.minutes) - self._stored_states >= self._most_new

    def store(
        self,
        look: OffsetsSnapshot | None,
        now_ms: int,
        *,
        judged: Callable[[], None],
        needed: Collection[int],
        read_to_ms: int = 0,
    ) -> bool:
        """Store what changed, and drop minutes that may leave memory; False if the store failed.

        Args:
            look: the offsets now; None if the brokers did not give them.
            now_ms: the time, epoch milliseconds.
            judged: called after minutes were judged, before any is dropped.
            needed: minutes with cards that stay in memory.
            read_to_ms: `Watermarks.read_to_ms`, to which minutes are judged for good; 0 if unknown.
        """
        covered, final = self._tracker.ledger.covered, self._before(read_to_ms)
        complete = final if look is None else self._before(collected_to_ms(look, covered))
        if complete > final:
            self._days.take(self._tracker.judge_even(complete, now_ms))
            judged()
        self._persistence.load()
        if not self._persistence.save():
            return False
        self._forget(max(final, complete), needed)
        self.begin()
        return True

    def _before(self, at_ms: int) -> int:
        """The minute before which minutes were over at a time for longer than states are kept."""
        return max(0, at_ms // MINUTE_MS - self._keep_minutes)

    def _forget(self, before: int, needed: Collection[int]) -> None:
        """Drop minutes until none is left that may be dropped: each call of `forget` drops a part of them."""
        minutes, held = self._tracker.ledger.minutes, -1
        while before and len(minutes) != held:
            held = len(minutes)
            self._persistence.forget(before, needed)


def collected_to_ms(look: OffsetsSnapshot, covered: Mapping[Partition, TalliedUpTo]) -> int:
    """All that was written to `collected` before this time (epoch milliseconds) is tallied; 0 if unknown.

    A partition that is not tallied to its end counts with the time of its newest tallied record, which is no
    later than now even if the clock that wrote it is ahead. What retention has deleted since is waited for:
    the ledger is kept for longer.
    """
    ends = look.ends_of((Topic.COLLECTED,))
    read = {place: covered[place] for place in ends if place in covered}
    behind = [place for place, end in ends.items() if end != (read[place].end if place in read else 0)]
    known = (read[place].newest_ms if place in read else 0 for place in behind)
    return min([look.at_ms, *known])
