"""An observe process without its threads, over a store that can fail, and a ledger to read."""

from collections.abc import Iterable
from datetime import date

import numpy as np

from pipelines.control.observe.dynamodb import Store
from pipelines.control.observe.scorecards.day_state import DayState
from pipelines.control.observe.scorecards.minute_state import MinuteTracker
from pipelines.control.observe.skew.watched_hours import WatchedHours
from pipelines.control.observe.storage.persistence import MOST_DROPPED, Persistence
from pipelines.control.observe.storage.repository import Repository
from pipelines.control.observe.verdicts.verdicts import ReadProgress
from shared.contracts.envelope import MINUTE_MS
from shared.contracts.lag_histogram import histogram
from shared.contracts.ledger import Range, Stage, Tally, with_ids
from shared.contracts.scorecard import ALL_TENANTS, DayCard, MinuteCard
from shared.contracts.topics import Topic
from shared.dynamodb.client import StoreError

DAY = date(2026, 3, 1)
FIRST = 29_538_720
"""Its first minute."""

NEVER = 10**15
STAGES = {
    Topic.COLLECTED: (Stage.COLLECTED, "shop"),
    Topic.EVENTS: (Stage.EVENTS, ""),
    Topic.OUTBOUND: (Stage.FIRST, "p"),
    Topic.RECEIPTS: (Stage.DELIVERED, "p"),
}


class BrittleStore(Store):
    """A store that fails after some writes."""

    def __init__(self, url: str, table: str) -> None:
        super().__init__(table, url)
        self.writes = NEVER

    def _write(self, changes: list[dict[str, object]]) -> None:
        if self.writes <= 0:
            raise StoreError("away")
        self.writes -= 1
        super()._write(changes)


class Meter:
    """An observe process without its threads."""

    def __init__(
        self,
        url: str,
        table: str = "meter",
        *,
        most_dropped: int = MOST_DROPPED,
        ledger_end: int = NEVER,
        needed: Iterable[int] = (),
        began_minute: int = FIRST,
    ) -> None:
        """`needed`: minutes whose cards must be in memory."""
        self.store = BrittleStore(url, table)
        self.store.ensure()
        self.tables = Repository(self.store)
        self.board, self.days = MinuteTracker(1_000), DayState()
        self.watched = WatchedHours()
        parts = (self.tables, self.board, self.days, self.watched)
        self.keeper = Persistence(*parts, most_dropped=most_dropped)
        self.position = self.keeper.restore(ledger_end, needed, began_minute)

    def enter(self, ledger: list[Range]) -> None:
        """Apply and judge the records after the position."""
        self.read(ledger)
        self.days.take(self.board.judge(ReadProgress(marks={}, read_to_ms=NEVER), NEVER))
        self.keeper.load()

    def read(self, ledger: list[Range]) -> None:
        """Apply the records after the position."""
        for offset, found in enumerate(ledger):
            if offset >= self.position:
                self.board.ledger.apply(found, offset, FIRST * MINUTE_MS)

    def known(self) -> tuple[list[MinuteCard], DayCard | None, DayCard | None]:
        """The stored cards: minutes, and the day of one tenant and of all tenants."""
        cards = list(self.tables.cards("acme", FIRST, FIRST + 1_439))
        return cards, self.tables.day("acme", DAY), self.tables.day(ALL_TENANTS, DAY)


def ledger(minutes: int, tenants: tuple[str, ...] = ("acme", "zoo")) -> list[Range]:
    """A ledger of five balanced events per minute and tenant; each minute is slower than the one before."""
    hashes = np.arange(5, dtype=np.uint64)
    return [
        Range(
            topic=topic,
            partition=0,
            start=turn,
            end=turn + 1,
            newest_ms=1,
            tallies=[
                with_ids(
                    Tally(
                        stage=stage,
                        tenant=tenant,
                        minute=FIRST + turn,
                        name=name,
                        count=5,
                        good=5 if stage is Stage.DELIVERED else 0,
                        lag_out=histogram(np.full(5, 10 + turn * 100)),
                        first=turn,
                        last=turn,
                    ),
                    hashes + np.uint64(turn * 100),
                )
                for tenant in tenants
            ],
        )
        for turn in range(minutes)
        for topic, (stage, name) in STAGES.items()
    ]


def written(minutes: int) -> list[Range]:
    """The same ledger, with the minutes' times in its records."""
    found = ledger(minutes)
    for each in found:
        each.newest_ms = (FIRST + each.end) * MINUTE_MS
    return found
