"""While days of the ledger are read, states are stored and complete minutes leave memory; the rest waits."""

from collections.abc import Iterable, Sequence

import pytest

from pipelines.control.observe.catch_up import CatchUp
from pipelines.control.observe.ledger.watermarks import Offsets, OffsetsSnapshot
from pipelines.control.observe.retirement import Retirement
from shared.contracts.envelope import MINUTE_MS
from shared.contracts.ledger import Range
from shared.contracts.scorecard import MinuteCard
from shared.contracts.topics import Topic
from shared.runtime.clock import Clock
from tests.contract.observe.meter import FIRST, NEVER, Meter, written

KEPT = 60
"""Minutes that stay in memory."""

MINUTES = KEPT + 16
NOW = (FIRST + MINUTES + 5) * MINUTE_MS
BATCH = 8
"""Records read between two turns: two minutes of two tenants."""


class Reading:
    """A process that reads a ledger piece by piece."""

    def __init__(
        self,
        url: str,
        table: str = "meter",
        *,
        ends: Offsets | None = None,
        most_new: int = 4,
        clock: Clock = lambda: NOW,
    ) -> None:
        """`ends`: of the partitions of `collected`."""
        self.meter = Meter(url, table)
        self.ends = {(Topic.COLLECTED.value, 0): MINUTES} if ends is None else ends
        self.most = 0
        """Most states held after a turn."""

        self.judged: set[int] = set()
        """Minutes that were judged before the end of the ledger."""

        retirement = Retirement(
            tracker=self.meter.board,
            days=self.meter.days,
            persistence=self.meter.keeper,
            keep_hours=KEPT // 60,
            most_new=most_new,
        )
        self.catch_up = CatchUp(
            tracker=self.meter.board,
            watched=self.meter.watched,
            retirement=retirement,
            offsets=lambda covered, now_ms: OffsetsSnapshot(now_ms, {}, self.ends, covered),
            judged=lambda: self.judged.update(each.state.minute for each in self.meter.board.touched),
            needed=(),
            clock=clock,
            store_seconds=3_600,
        )

    @property
    def held(self) -> int:
        """States in memory."""
        return len(self.meter.board.ledger.minutes)

    def read(self, whole: Sequence[Range]) -> bool:
        """Read records from the position on until a turn asks to wait; returns whether none did."""
        for start in range(self.meter.position, len(whole), BATCH):
            for offset, found in enumerate(whole[start : start + BATCH], start):
                self.meter.board.ledger.apply(found, offset, NOW)
                self.meter.position = offset + 1
            if not self.catch_up.turn():
                return False
            self.most = max(self.most, self.held)
        return True

    def finish(self) -> None:
        """Judge the remaining minutes, as the control loop does at the end of the ledger."""
        self.meter.enter([])
        assert self.meter.keeper.save()


def cards(meter: Meter) -> Iterable[MinuteCard]:
    return meter.tables.cards("acme", FIRST, FIRST + MINUTES)


def test_complete_minutes_leave_memory_while_the_ledger_is_read(store_url: str) -> None:
    reading, reference = Reading(store_url), Reading(store_url, "reference", most_new=NEVER)
    assert reading.read(written(MINUTES))
    assert reading.most <= 2 * (KEPT + 6)
    assert reading.held < 2 * MINUTES - 20
    before = {card.minute for card in cards(reading.meter)}
    assert len(before) > 10, "judged and stored before the end of the ledger"
    assert reading.judged == before
    reading.finish()
    assert reference.read(written(MINUTES))
    reference.finish()
    assert reading.meter.known() == reference.meter.known()


def test_a_process_that_is_killed_continues_where_it_was(store_url: str) -> None:
    whole = written(MINUTES)
    assert Reading(store_url).read(whole[: len(whole) // 2])
    again = Reading(store_url)
    assert again.meter.position >= len(whole) // 2 - BATCH
    assert again.read(whole)
    again.finish()
    assert [(card.delivered, card.lost) for card in cards(again.meter)] == [(5, 0)] * MINUTES


@pytest.mark.parametrize("killed", [False, True])
@pytest.mark.parametrize(
    "writes", [1, 3, *(pytest.param(each, marks=pytest.mark.proof) for each in (0, 2, 5, 8))]
)
def test_a_store_that_fails_in_the_middle_of_a_turn_loses_nothing(
    store_url: str, writes: int, killed: bool
) -> None:
    """The store fails after some writes; the process waits for it, or is killed and restarted."""
    whole = written(MINUTES)
    reading = Reading(store_url)
    assert reading.read(whole[: len(whole) - 2 * BATCH])
    reading.meter.store.writes = writes
    reading.read(whole)
    reading.meter.store.writes = NEVER
    if killed:
        reading = Reading(store_url)
    assert reading.read(whole)
    reading.finish()
    stored, day, every = reading.meter.known()
    assert [(card.delivered, card.lost) for card in stored] == [(5, 0)] * MINUTES
    assert day is not None and every is not None
    assert (day.total, every.total) == (5 * MINUTES, 10 * MINUTES)


def test_reading_waits_for_the_store_once_memory_is_full(store_url: str) -> None:
    reading = Reading(store_url)
    reading.meter.store.writes = 0
    assert not reading.read(written(MINUTES))
    assert reading.held == 4
    reading.meter.store.writes = NEVER
    assert reading.catch_up.turn()


def test_minutes_with_missing_events_are_not_judged_before_the_ledger_is_read(store_url: str) -> None:
    reading, whole = Reading(store_url), written(MINUTES)
    late = whole.pop(7)  # receipts of the second minute, which come last
    assert late.topic is Topic.RECEIPTS
    late.start, late.end = MINUTES, MINUTES + 1
    assert reading.read(whole)
    assert FIRST + 1 not in {card.minute for card in cards(reading.meter)}
    assert {("acme", FIRST + 1), ("zoo", FIRST + 1)} <= reading.meter.board.ledger.minutes.keys()
    assert reading.read([*whole, late])
    reading.finish()
    assert [(card.delivered, card.lost) for card in cards(reading.meter)] == [(5, 0)] * MINUTES


def test_minutes_stay_while_a_partition_of_what_was_collected_is_read_less_far(store_url: str) -> None:
    ends = {(Topic.COLLECTED.value, 0): MINUTES, (Topic.COLLECTED.value, 1): 1}
    reading = Reading(store_url, ends=ends)
    assert reading.read(written(MINUTES))
    assert reading.held == 2 * MINUTES
    assert list(cards(reading.meter)) == []
    assert len(list(reading.meter.tables.states())) == 2 * MINUTES


def test_what_is_read_is_stored_after_the_clock_was_set_back(store_url: str) -> None:
    times = iter([NOW + 3_600_000])
    reading = Reading(store_url, most_new=NEVER, clock=lambda: next(times, NOW))
    assert reading.read(written(1))
    assert len(list(reading.meter.tables.states())) == 2
