"""Stores and retires minutes while observe reads the ledger to its end.

So memory stays bounded, and a process that is killed meanwhile continues where it was. It is unknown how far
the nodes were when a record of the ledger was written. So nothing is proven lost or doubled here, and no
alarm changes; the control loop does that once the ledger is read.
"""

from collections.abc import Callable, Collection

from confluent_kafka import KafkaException

from pipelines.control.observe.ledger.watermarks import Offsets, OffsetsSnapshot
from pipelines.control.observe.retirement import Retirement
from pipelines.control.observe.scorecards.minute_state import MinuteTracker
from pipelines.control.observe.skew.watched_hours import HOUR_MINUTES, WatchedHours
from shared.runtime.clock import Clock, is_over
from shared.runtime.logging import get_logger

_log = get_logger(__name__)


class CatchUp:
    """Belongs to the thread of the control loop."""

    def __init__(  # noqa: PLR0913  # what it stores, and where
        self,
        *,
        tracker: MinuteTracker,
        watched: WatchedHours,
        retirement: Retirement,
        offsets: Callable[[Offsets, int], OffsetsSnapshot],
        judged: Callable[[], None],
        needed: Collection[int],
        clock: Clock,
        store_seconds: float,
    ) -> None:
        """`offsets` is `Progress.look`; `judged` and `needed` are those of `Retirement.store`."""
        self._tracker, self._watched, self._retirement = tracker, watched, retirement
        self._offsets, self._judged, self._needed = offsets, judged, needed
        self._clock, self._store_ms = clock, store_seconds * 1_000
        self._stored_ms = clock()

    def turn(self) -> bool:
        """Store what was read and retire what is complete, if that is due.

        False if reading should wait: memory holds as much as it may, and the store fails.
        """
        full, now_ms = self._retirement.full, self._clock()
        if not full and not is_over(self._stored_ms, self._store_ms, now_ms):
            return True
        look = self._looked(now_ms)
        if not self._retirement.store(look, now_ms, judged=self._judged, needed=self._needed):
            return not full
        self._keep_watched()
        self._stored_ms = now_ms
        ledger = self._tracker.ledger
        extra = {"offset": ledger.position.offset, "minutes": len(ledger.minutes)}
        _log.info("reading the ledger to its end; stored as far as it is read", extra=extra)
        return True

    def _looked(self, now_ms: int) -> OffsetsSnapshot | None:
        try:
            return self._offsets(self._tracker.ledger.offsets, now_ms)
        except (KafkaException, TimeoutError) as error:
            _log.warning(
                "no minutes retired: the brokers did not answer; retrying", extra={"error": str(error)}
            )
            return None

    def _keep_watched(self) -> None:
        states = self._tracker.ledger.minutes.values()
        self._watched.keep((state.tenant, state.minute // HOUR_MINUTES) for state in states if state.watched)
