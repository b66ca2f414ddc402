"""Stores and retires minutes while observe reads the ledger to its end.

So memory stays bounded, and a process that is killed meanwhile continues where it was. How far the nodes were
when a record of the ledger was written is unknown, so nothing is proven lost or doubled here, and no alarm
changes: the control loop does that once the ledger is read.
"""

from collections.abc import Callable, Collection, Mapping
from typing import Final

from confluent_kafka import KafkaException

from pipelines.control.observe.ledger.minute_sums import Partition
from pipelines.control.observe.ledger.watermarks import Offsets, OffsetsSnapshot
from pipelines.control.observe.scorecards.day_state import DayState
from pipelines.control.observe.scorecards.ledger_state import TalliedUpTo
from pipelines.control.observe.scorecards.minute_state import MinuteTracker
from pipelines.control.observe.skew.watched_hours import HOUR_MINUTES, WatchedHours
from pipelines.control.observe.storage.persistence import Persistence
from shared.contracts.envelope import MINUTE_MS
from shared.contracts.topics import Topic
from shared.runtime.clock import Clock, is_over
from shared.runtime.logging import get_logger

_log = get_logger(__name__)
_MOST_NEW: Final = 1_000
"""States that may be added to memory before they are stored and old ones retired: about 95 MB."""


class CatchUp:
    """Belongs to the thread of the control loop."""

    def __init__(  # noqa: PLR0913  # what it stores, and where
        self,
        *,
        tracker: MinuteTracker,
        days: DayState,
        watched: WatchedHours,
        persistence: Persistence,
        offsets: Callable[[Offsets, int], OffsetsSnapshot],
        judged: Callable[[], None],
        needed: Collection[int],
        clock: Clock,
        store_seconds: float,
        keep_hours: int,
        most_new: int = _MOST_NEW,
    ) -> None:
        """`offsets` is `Progress.look`; `judged` is called after minutes were judged, before any is dropped.

        The cards of the minutes `needed` stay in memory.
        """
        self._tracker, self._days, self._watched = tracker, days, watched
        self._persistence, self._offsets, self._needed = persistence, offsets, needed
        self._judged = judged
        self._clock, self._store_ms, self._keep_minutes = (
            clock,
            store_seconds * 1_000,
            keep_hours * HOUR_MINUTES,
        )
        self._most_new = most_new
        self._stored_ms, self._stored_states = clock(), len(tracker.ledger.minutes)

    def turn(self) -> bool:
        """Store what was read and retire what is complete, if that is due.

        False if reading should wait: memory holds as much as it may, and the store fails.
        """
        ledger, now_ms = self._tracker.ledger, self._clock()
        full = len(ledger.minutes) - self._stored_states >= self._most_new
        if not full and not is_over(self._stored_ms, self._store_ms, now_ms):
            return True
        before = self._complete_before(now_ms)
        self._days.take(self._tracker.judge_even(before, now_ms))
        self._judged()
        self._persistence.load()
        if not self._persistence.save():
            return not full
        self._retire(before)
        self._stored_ms, self._stored_states = now_ms, len(ledger.minutes)
        extra = {"offset": ledger.position.offset, "minutes": len(ledger.minutes)}
        _log.info("reading the ledger to its end; stored as far as it is read", extra=extra)
        return True

    def _complete_before(self, now_ms: int) -> int:
        """The minute before which minutes are complete and older than states are kept; 0 if unknown."""
        ledger = self._tracker.ledger
        try:
            look = self._offsets(ledger.offsets, now_ms)
        except (KafkaException, TimeoutError) as error:
            _log.warning(
                "no minutes retired: the brokers did not answer; retrying", extra={"error": str(error)}
            )
            return 0
        complete_ms = collected_to_ms(look, ledger.covered)
        return max(0, complete_ms // MINUTE_MS - self._keep_minutes)

    def _retire(self, before: int) -> None:
        """Drop minutes until none is left that may be dropped: each call of `forget` drops a part of them."""
        minutes, held = self._tracker.ledger.minutes, -1
        while before and len(minutes) != held:
            held = len(minutes)
            self._persistence.forget(before, self._needed)
        self._watched.keep(
            (state.tenant, state.minute // HOUR_MINUTES) for state in minutes.values() if state.watched
        )


def collected_to_ms(look: OffsetsSnapshot, covered: Mapping[Partition, TalliedUpTo]) -> int:
    """All that was written to `collected` before this time (epoch milliseconds) is tallied; 0 if unknown.

    A partition that is not tallied to its end counts with the time of its newest tallied record. What
    retention has deleted since is waited for: the ledger is kept for longer.
    """
    ends = look.ends_of((Topic.COLLECTED,))
    read = {place: covered[place] for place in ends if place in covered}
    behind = [place for place, end in ends.items() if end != (read[place].end if place in read else 0)]
    return min((read[place].newest_ms if place in read else 0 for place in behind), default=look.at_ms)
