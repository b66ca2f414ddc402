"""State is stored and restored, whatever happens to process and store in between."""

from collections.abc import Iterator, Mapping
from datetime import date

import numpy as np
import pytest

from pipelines.control.observe.dynamodb import Item, Store
from pipelines.control.observe.ledger.minute_sums import FieldKey
from pipelines.control.observe.scorecards.day_state import DayState
from pipelines.control.observe.scorecards.minute_state import MinuteTracker
from pipelines.control.observe.skew.watched_hours import WatchedHours
from pipelines.control.observe.storage.persistence import Persistence
from pipelines.control.observe.storage.repository import Repository
from pipelines.control.observe.verdicts.verdicts import ReadProgress
from shared.contracts.envelope import MINUTE_MS
from shared.contracts.field_counts import FieldCounts
from shared.contracts.lag_histogram import histogram
from shared.contracts.ledger import Range, Stage, Tally, with_ids
from shared.contracts.scorecard import ALL_TENANTS, DayCard, MinuteCard
from shared.contracts.topics import Topic
from shared.dynamodb.client import StoreError
from tests.harness.local_aws import local_aws

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

    def _write(self, requests: list[dict[str, object]]) -> None:
        if self.writes <= 0:
            raise StoreError("away")
        self.writes -= 1
        super()._write(requests)


class Meter:
    """The process, without its threads."""

    def __init__(self, url: str, table: str = "meter") -> None:
        self.store = BrittleStore(url, table)
        self.store.ensure()
        self.tables = Repository(self.store)
        self.board, self.days = MinuteTracker(1_000), DayState()
        self.watched = WatchedHours()
        self.keeper = Persistence(self.tables, self.board, self.days, self.watched)
        self.position = self.keeper.restore(NEVER)

    def enter(self, ledger: list[Range]) -> None:
        """Records after the position, as far as they are judged."""
        self.read(ledger)
        self.days.take(self.board.judge(ReadProgress(marks={}, read_to_ms=NEVER), NEVER))
        self.keeper.load()

    def read(self, ledger: list[Range]) -> None:
        """Records after the position."""
        for offset, found in enumerate(ledger):
            if offset >= self.position:
                self.board.ledger.apply(found, offset, FIRST * MINUTE_MS)

    def known(self) -> tuple[list[MinuteCard], DayCard | None, DayCard | None]:
        """The stored cards: minutes, and the day of one tenant and of all."""
        cards = list(self.tables.cards("acme", FIRST, FIRST + 1_439))
        return cards, self.tables.day("acme", DAY), self.tables.day(ALL_TENANTS, DAY)


@pytest.fixture
def url() -> Iterator[str]:
    with local_aws() as found:
        yield found


def ledger(minutes: int, tenants: tuple[str, ...] = ("acme", "zoo")) -> list[Range]:
    """Five balanced events per minute and tenant; each minute is slower than the one before."""
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


def test_records_that_were_read_and_not_judged_when_the_process_ends_are_in_the_next_one(url: str) -> None:
    meter, whole = Meter(url), ledger(6)
    meter.enter(whole[:10])  # half of a minute's records
    assert meter.keeper.save()
    meter.read(whole)
    assert meter.keeper.save()  # as it ends
    again = Meter(url)
    again.enter(whole)
    other = Meter(url, "other")
    other.enter(whole)
    assert again.keeper.save()
    assert other.keeper.save()
    cards = other.known()[0]
    assert again.known()[0] == cards
    assert [(card.delivered, card.lost) for card in cards] == [(5, 0)] * 6


def test_minutes_that_are_dropped_stay_in_their_day(url: str) -> None:
    meter, whole = Meter(url), ledger(6)
    meter.enter(whole)
    assert meter.keeper.save()
    before = meter.known()
    assert before[1] is not None and before[1].total == 30
    meter.keeper.forget(FIRST + 4)
    assert sorted({minute for _, minute in meter.board.ledger.minutes}) == [FIRST + 4, FIRST + 5]
    assert len(list(meter.tables.states())) == 4
    assert meter.keeper.save()
    assert meter.known() == before

    again = Meter(url)
    again.enter(whole)
    assert again.keeper.save()
    assert again.known() == before, "by another process, from states and the sums of dropped ones"
    again.keeper.forget(FIRST + 6)
    assert again.keeper.save()
    assert again.known() == before


def test_a_day_of_many_minutes_is_the_sum_of_all_as_they_come_and_go(url: str) -> None:
    """The sum is the same whatever was summed before, also if an old minute changes."""
    meter, whole = Meter(url), ledger(60)
    late = ledger(1)[3]
    late.start, late.end = 100, 101
    whole.append(late)
    for end in (20, 100, 160, 240, 241):
        meter.enter(whole[:end])
        meter.position = end
        assert meter.keeper.save()
        meter.keeper.forget(FIRST + end // 16)
        assert meter.keeper.save()
        fresh = Meter(url, f"fresh-{end}")
        fresh.enter(whole[: min(end, 240)])  # late events of a dropped minute are ignored
        assert fresh.keeper.save()
        assert fresh.known() == meter.known()


def test_late_events_do_not_restart_a_dropped_minute(url: str) -> None:
    meter = Meter(url)
    meter.enter(ledger(2))
    meter.keeper.save()
    before = meter.known()
    meter.keeper.forget(FIRST + 2)
    late = ledger(2)[3]
    late.start, late.end = 100, 101
    meter.board.ledger.apply(late, 1_000, FIRST * MINUTE_MS)
    meter.days.take(meter.board.judge(ReadProgress(marks={}, read_to_ms=NEVER), NEVER))
    meter.keeper.save()
    assert meter.known() == before


@pytest.mark.parametrize("killed", [False, True])
def test_a_store_that_fails_in_the_middle_loses_nothing(url: str, killed: bool) -> None:
    """After so many writes the store fails; the process continues, or is killed and starts again."""
    whole = ledger(12)
    reference = Meter(url, "reference")
    reference.enter(whole)
    assert reference.keeper.save()
    for writes in range(8):
        table = f"table-{writes}"
        meter = Meter(url, table)
        meter.enter(whole[:20])
        assert meter.keeper.save()
        meter.position, meter.store.writes = 20, writes
        meter.enter(whole)
        meter.keeper.save()
        meter.keeper.forget(FIRST + 3)
        meter.position, meter.store.writes = len(whole), NEVER
        if killed:
            meter = Meter(url, table)
        meter.enter(whole)
        assert meter.keeper.save()
        meter.keeper.forget(FIRST + 3)
        assert meter.keeper.save()
        assert meter.known() == reference.known()


def test_a_recreated_ledger_is_read_from_its_start(url: str) -> None:
    meter = Meter(url)
    meter.enter(ledger(3))
    meter.keeper.save()
    keeper = Persistence(meter.tables, MinuteTracker(1_000), DayState(), WatchedHours())
    assert keeper.restore(ledger_end := 5) == 0
    assert keeper.restore(ledger_end + 7) == 12


def watching(minutes: int) -> list[Range]:
    """The same ledger with a pipe that watches a field; each minute has one value more."""
    found = ledger(minutes, ("acme",))
    for each in found:
        for tally in each.tallies if each.topic is Topic.OUTBOUND else ():
            values = tally.minute - FIRST + 1
            counts = FieldCounts(events=5, texts={"DE": values, f"of {tally.minute}": 1})
            tally.watched = {("data.country", "categories"): counts}
    return found


def hour(meter: Meter) -> Mapping[FieldKey, FieldCounts]:
    """The counts of the hour of FIRST, of minutes in memory and dropped ones."""
    key = ("acme", FIRST // 60)
    meter.watched.want([key])
    meter.keeper.load()
    return meter.watched.counts(key, meter.board.ledger.minutes.values())


@pytest.mark.parametrize("killed", [False, True])
def test_watched_fields_of_dropped_minutes_count_once_whenever_the_store_fails(
    url: str, killed: bool
) -> None:
    whole = watching(12)
    reference = Meter(url, "reference")
    reference.enter(whole)
    expected = hour(reference)
    assert expected["p", "data.country", "categories"].values == sum(range(1, 13)) + 12
    for writes in range(3):
        table = f"table-{writes}"
        meter = Meter(url, table)
        meter.enter(whole)
        hour(meter)
        assert meter.keeper.save()
        meter.store.writes = writes
        meter.keeper.forget(FIRST + 5)
        meter.store.writes, meter.position = NEVER, len(whole)
        if killed:
            meter = Meter(url, table)
        assert hour(meter) == expected
        meter.enter(whole)
        meter.keeper.forget(FIRST + 7)  # asks for the hour where it is not loaded
        meter.keeper.load()
        meter.keeper.forget(FIRST + 7)
        assert min(minute for _, minute in meter.board.ledger.minutes) == FIRST + 7
        assert hour(meter) == hour(Meter(url, table)) == expected


def test_cards_outlive_their_expired_neighbours(url: str) -> None:
    store = Store("meter", url)
    store.ensure()
    meter = Meter(url)
    meter.enter(ledger(1))
    meter.keeper.save()
    expiry = [item.expires_s for item in store.query("card/acme")]
    assert expiry == [FIRST * 60 + 400 * 86_400]
    assert [item.expires_s for item in store.query("state")] == [None, None]
    assert isinstance(next(store.query("position")), Item)
