"""Reads both sides, their registers and their releases from the table, for people."""

import threading
from collections.abc import Callable, Sequence
from time import monotonic

from msgspec.structs import replace

from shared.contracts.diamond.stability import Stability
from shared.contracts.sides import (
    SideReport,
    Sides,
    deployer_status,
    lone_side,
    seen_side,
    shown_release,
)
from shared.dynamodb.activity_reader import ActivityReader
from shared.dynamodb.release_store import ReleaseStore
from shared.dynamodb.unreadable_rows import UnreadableRows
from shared.runtime.clock import Clock


class SidesReader:
    """May be used from any thread.

    It keeps what it saw of the registers: an owner is left out if its beat does not move from look to look.
    So is an activity that another version wrote and this one cannot read, which is logged once.
    """

    def __init__(
        self,
        table: str,
        endpoint: str | None,
        *,
        own: str | None,
        health: Callable[[], Stability],
        clock: Clock,
    ) -> None:
        """Read from the table of documents.

        Args:
            table: its name.
            endpoint: URL of DynamoDB Local; None is AWS.
            own: the side that is shown if no deployer ever ran; None shows none then.
            health: what that side's observe says of it.
            clock: epoch milliseconds.
        """
        self._table, self._endpoint, self._own, self._health = table, endpoint, own, health
        self._clock = clock
        self._store = ReleaseStore(table, endpoint)
        self._registers: dict[str, ActivityReader] = {}
        self._unreadable: dict[str, UnreadableRows] = {}
        self._lock = threading.Lock()
        """Guards the dictionaries and their unreadable rows; not held during requests."""

    def look(self, ended: int) -> Sides:
        """The sides now, and the last `ended` releases that have ended.

        Raises:
            StoreError: if the table cannot be used.
        """
        states, release = self._store.sides(), self._store.current()
        now_ms = self._clock()
        found = [seen_side(each) for each in states] or self._alone(now_ms)
        return Sides(
            at_ms=now_ms,
            deployer=deployer_status(states, now_ms),
            sides=[self._with_actors(each) for each in found],
            release=None if release is None else shown_release(release),
            ended=[shown_release(each) for each in self._store.ended(ended)] if ended else [],
        )

    def _alone(self, now_ms: int) -> Sequence[SideReport]:
        return () if self._own is None else (lone_side(self._own, self._health(), now_ms),)

    def _with_actors(self, report: SideReport) -> SideReport:
        register = self._register_of(report.side).readable()
        with self._lock:
            rows = self._unreadable.setdefault(report.side, UnreadableRows(f"activities of {report.side}"))
            rows.report(register.unreadable)
        return replace(report, activities=register.activities, wishes=register.wishes)

    def _register_of(self, side: str) -> ActivityReader:
        with self._lock:
            if side not in self._registers:
                self._registers[side] = ActivityReader(
                    self._table, self._endpoint, side=side, clock=self._clock, monotonic=monotonic
                )
            return self._registers[side]
