"""Follows the register of the side's activities on a thread, so that a slow table delays no look."""

import threading
from collections.abc import Callable, Sequence
from typing import Final

from pipelines.control.observe.alarms.quiet_windows import activity_windows
from shared.contracts.alarms import QuietWindow
from shared.contracts.diamond.activities import Activity
from shared.dynamodb.activity_reader import ActivityReader, Register
from shared.dynamodb.client import StoreError
from shared.dynamodb.unreadable_rows import UnreadableRows
from shared.runtime.clock import Clock
from shared.runtime.logging import get_logger

_log = get_logger(__name__)
_EVERY_SECONDS: Final = 2.0
_STOP_SECONDS: Final = 10.0


class ActivityWatch:
    """`register` and `windows` may be called from any thread."""

    def __init__(self, reader: ActivityReader | None, clock: Clock) -> None:
        """Without a reader, nothing is ever under way."""
        self._reader, self._clock = reader, clock
        self._register: Register | None = None
        self._read_ms = 0
        """When the register was read last, epoch milliseconds."""

        self._windows: Sequence[QuietWindow] = ()
        self._former: Sequence[QuietWindow] = ()
        """Those that the former process had."""

        self._unreadable = UnreadableRows("activities")
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="activity-watch", daemon=True)

    def start(self) -> None:
        """Begin to follow."""
        if self._reader is not None:
            self._thread.start()

    def stop(self) -> None:
        """End the thread."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join(_STOP_SECONDS)

    def register(self) -> Register | None:
        """Activities under way, and the wishes of those who wait; None while they are not known."""
        return self._register

    def resume(self, windows: Sequence[QuietWindow]) -> None:
        """Go on with the windows of the former process: no register has what ended before this one began."""
        self._former = windows

    def windows(self) -> Sequence[QuietWindow]:
        """Quiet windows of what is under way, or has ended a little while ago."""
        windows = self._windows
        known = {each.id for each in windows}
        return (*windows, *(each for each in self._former if each.id not in known))

    def _run(self) -> None:
        while not self._stopping.is_set():
            self._look()
            self._stopping.wait(_EVERY_SECONDS)

    def _look(self) -> None:
        register, now_ms = self._read(), self._clock()
        if register is None:
            under_way = self._unseen(now_ms)
        else:
            self._register, self._read_ms = register, now_ms
            under_way = register.activities
        self._windows = activity_windows(self._windows, under_way, now_ms)

    def _read(self) -> Register | None:
        assert self._reader is not None
        try:
            register = self._reader.readable()
            self._unreadable.report(register.unreadable)
        except StoreError as error:  # what is known stays: a table that is away ends no release
            _log.warning("activities not read; retrying", extra={"error": str(error)})
            return None
        except Exception:  # the next look may do, and without the thread nothing is known of releases
            _log.exception("activities not read: unexpected error; retrying")
            return None
        return register

    def _unseen(self, now_ms: int) -> Sequence[Activity]:
        """Activities that may still be under way while the register cannot be read."""
        known = () if self._register is None else self._register.activities
        return [each for each in known if each.may_last(self._read_ms, now_ms)]


def watch(
    table: str | None, endpoint: str | None, *, side: str, clock: Clock, monotonic: Callable[[], float]
) -> ActivityWatch:
    """Follow the register in a table; without one nothing is known of activities."""
    if table is None:
        return ActivityWatch(None, clock)
    reader = ActivityReader(table, endpoint, side=side, clock=clock, monotonic=monotonic)
    return ActivityWatch(reader, clock)
