"""State is stored and restored, whatever happens to process and store meanwhile."""

from collections.abc import Iterable, Mapping

import pytest

from pipelines.control.observe.dynamodb import Item, Store
from pipelines.control.observe.ledger.minute_sums import FieldKey
from pipelines.control.observe.ledger.reconciliation_rules import Key, Reconciliation
from pipelines.control.observe.scorecards.day_state import DayState
from pipelines.control.observe.scorecards.minute_state import MinuteTracker
from pipelines.control.observe.skew.watched_hours import WatchedHours
from pipelines.control.observe.storage.persistence import Persistence
from pipelines.control.observe.storage.repository import findings_item, state_item, tenant_item
from pipelines.control.observe.verdicts.event_identification import Identified
from pipelines.control.observe.verdicts.verdicts import ReadProgress
from shared.contracts.envelope import MINUTE_MS
from shared.contracts.field_counts import FieldCounts
from shared.contracts.ledger import Range
from shared.contracts.topics import Topic
from tests.contract.observe.meter import DAY, FIRST, NEVER, Meter, ledger


def test_records_that_were_read_and_not_judged_when_the_process_ends_are_in_the_next_one(
    store_url: str,
) -> None:
    meter, whole = Meter(store_url), ledger(6)
    meter.enter(whole[:10])  # half of a minute's records
    assert meter.keeper.save()
    meter.read(whole)
    assert meter.keeper.save()  # as it ends
    again = Meter(store_url)
    again.enter(whole)
    other = Meter(store_url, "other")
    other.enter(whole)
    assert again.keeper.save()
    assert other.keeper.save()
    cards = other.known()[0]
    assert again.known()[0] == cards
    assert [(card.delivered, card.lost) for card in cards] == [(5, 0)] * 6


def test_minutes_that_are_dropped_stay_in_their_day(store_url: str) -> None:
    meter, whole = Meter(store_url), ledger(6)
    meter.enter(whole)
    assert meter.keeper.save()
    before = meter.known()
    assert before[1] is not None and before[1].total == 30
    meter.keeper.forget(FIRST + 4)
    assert sorted({minute for _, minute in meter.board.ledger.minutes}) == [FIRST + 4, FIRST + 5]
    assert len(list(meter.tables.states())) == 4
    assert meter.keeper.save()
    assert meter.known() == before

    again = Meter(store_url)
    again.enter(whole)
    assert again.keeper.save()
    assert again.known() == before, "by another process, from states and the sums of dropped ones"
    again.keeper.forget(FIRST + 6)
    assert again.keeper.save()
    assert again.known() == before


def test_a_day_of_many_minutes_is_the_sum_of_all_as_they_come_and_go(store_url: str) -> None:
    """The sum is the same for any order of summing, also if an old minute changes."""
    meter, whole = Meter(store_url), ledger(60)
    late = ledger(1)[3]
    late.start, late.end = 100, 101
    whole.append(late)
    for end in (20, 100, 160, 240, 241):
        meter.enter(whole[:end])
        meter.position = end
        assert meter.keeper.save()
        meter.keeper.forget(FIRST + end // 16)
        assert meter.keeper.save()
        fresh = Meter(store_url, f"fresh-{end}")
        fresh.enter(whole[: min(end, 240)])  # late events of a dropped minute are ignored
        assert fresh.keeper.save()
        assert fresh.known() == meter.known()


def test_late_events_do_not_restart_a_dropped_minute(store_url: str) -> None:
    meter = Meter(store_url)
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
def test_a_clock_that_was_ahead_for_one_look_hides_no_minute_that_comes_later(
    store_url: str, killed: bool
) -> None:
    """Only dropped minutes are over; minutes without events so far are not."""
    meter, whole = Meter(store_url), ledger(6)
    meter.enter(whole[:8])  # two minutes
    assert meter.keeper.save()
    meter.keeper.forget(FIRST + 1_440)  # a day ahead
    assert meter.board.ledger.minutes == {}
    assert meter.keeper.save()
    meter.position = 8
    if killed:
        meter = Meter(store_url)
    late = ledger(2)[7]
    late.start, late.end = 100, 101
    meter.enter([*whole, late])
    assert meter.keeper.save()
    cards, day, _ = meter.known()
    assert [(card.delivered, card.lost) for card in cards] == [(5, 0)] * 6
    assert day is not None and day.total == 30


@pytest.mark.parametrize("killed", [False, True])
@pytest.mark.parametrize("failures", [(1, 4), pytest.param(range(8), marks=pytest.mark.proof)])
def test_a_store_that_fails_in_the_middle_loses_nothing(
    store_url: str, killed: bool, failures: Iterable[int]
) -> None:
    """The store fails after some writes; the process continues, or is killed and restarted."""
    whole = ledger(12)
    reference = Meter(store_url, "reference")
    reference.enter(whole)
    assert reference.keeper.save()
    for writes in failures:
        table = f"table-{writes}"
        meter = Meter(store_url, table)
        meter.enter(whole[:20])
        assert meter.keeper.save()
        meter.position, meter.store.writes = 20, writes
        meter.enter(whole)
        meter.keeper.save()
        meter.keeper.forget(FIRST + 3)
        meter.position, meter.store.writes = len(whole), NEVER
        if killed:
            meter = Meter(store_url, table)
        meter.enter(whole)
        assert meter.keeper.save()
        meter.keeper.forget(FIRST + 3)
        assert meter.keeper.save()
        assert meter.known() == reference.known()


def test_a_recreated_ledger_is_read_from_its_start(store_url: str) -> None:
    meter = Meter(store_url)
    meter.enter(ledger(3))
    meter.keeper.save()
    keeper = Persistence(meter.tables, MinuteTracker(1_000), DayState(), WatchedHours())
    assert keeper.restore(ledger_end := 5, (), FIRST) == 0
    assert keeper.restore(ledger_end + 7, (), FIRST) == 12


def test_minutes_of_a_recreated_ledger_do_not_come_back_later(store_url: str) -> None:
    """Their offsets belong to other topics: once new ones exceed them, waiting events would look lost."""
    meter = Meter(store_url)
    meter.enter(ledger(6))
    assert meter.keeper.save()
    second = Meter(store_url, ledger_end=5)
    assert second.position == 0
    assert second.keeper.tenants == {"acme", "zoo"}, "their cards remain"
    second.enter(ledger(1))
    assert second.keeper.save()
    third = Meter(store_url)
    assert third.position == 4
    assert {minute for _, minute in third.board.ledger.minutes} == {FIRST}
    assert len(list(third.tables.cards("acme", FIRST, FIRST + 9))) == 6


def test_an_old_minute_that_is_open_changes_no_card_at_each_look(store_url: str) -> None:
    """Its day stays in memory; otherwise each loss would look new and be counted again."""
    meter, whole = Meter(store_url), ledger(1)
    meter.enter(whole[:3])  # no receipts yet
    assert meter.keeper.save()
    meter.keeper.forget(FIRST + 5 * 1_440)
    assert meter.board.open_minutes == 2
    progress = ReadProgress(marks={}, read_to_ms=NEVER)
    assert meter.days.take(meter.board.judge(progress, NEVER)) == []
    meter.position = 3
    meter.read(whole)
    changes = meter.days.take(meter.board.judge(progress, NEVER))
    assert [change.before is not None for change in changes] == [True] * 3


def test_the_cards_that_alarms_look_at_are_there_after_a_restart(store_url: str) -> None:
    """Also cards of a day without remaining states."""
    meter = Meter(store_url)
    meter.enter(ledger(2))
    assert meter.keeper.save()
    meter.keeper.forget(FIRST + 2)
    assert meter.board.ledger.minutes == {}
    cards = dict(meter.days.cards)
    assert dict(Meter(store_url, needed=[FIRST + 1]).days.cards) == cards
    assert dict(Meter(store_url).days.cards) == {}


@pytest.mark.parametrize(("began_minute", "asked"), [(FIRST - 30, True), (FIRST - 90, False)])
def test_a_day_that_begins_while_a_process_runs_is_that_of_the_tenants_with_events(
    store_url: str, began_minute: int, asked: bool
) -> None:
    """A day that begins within the hour before may follow one with events of a clock that was ahead."""
    Meter(store_url).tables.write([tenant_item("idle")])
    meter = Meter(store_url, began_minute=began_minute)
    meter.enter(ledger(1, ("acme",)))
    assert meter.keeper.save()
    assert ({("idle", DAY)} <= meter.days.cards.keys()) is asked
    assert meter.tables.day("idle", DAY) is None
    assert [day is not None and day.total for day in meter.known()[1:]] == [5, 5]


def test_what_is_stored_of_a_day_is_added_to_by_a_process_that_began_before_it(store_url: str) -> None:
    whole, former = ledger(6), Meter(store_url)
    former.enter(whole[:12])
    assert former.keeper.save()
    former.keeper.forget(FIRST + 3)
    assert former.board.ledger.minutes == {}
    meter = Meter(store_url, began_minute=FIRST - 90)
    meter.enter(whole)
    assert meter.keeper.save()
    reference = Meter(store_url, "reference")
    reference.enter(whole)
    assert reference.keeper.save()
    assert meter.known() == reference.known()


def watching(minutes: int) -> list[Range]:
    """The same ledger with a pipe that watches a field; each minute has one more value."""
    found = ledger(minutes, ("acme",))
    for each in found:
        for tally in each.tallies if each.topic is Topic.OUTBOUND else ():
            values = tally.minute - FIRST + 1
            counts = FieldCounts(events=5, texts={"DE": values, f"of {tally.minute}": 1})
            tally.watched = {("data.country", "categories"): counts}
    return found


def hour(meter: Meter) -> Mapping[FieldKey, FieldCounts]:
    """The counts of the hour of FIRST, from minutes in memory and dropped ones."""
    key = ("acme", FIRST // 60)
    meter.watched.want([key])
    meter.keeper.load()
    return meter.watched.counts(key, meter.board.ledger.minutes.values())


@pytest.mark.parametrize("killed", [False, True])
def test_watched_fields_of_dropped_minutes_count_once_whenever_the_store_fails(
    store_url: str, killed: bool
) -> None:
    whole = watching(12)
    reference = Meter(store_url, "reference")
    reference.enter(whole)
    expected = hour(reference)
    assert expected["p", "data.country", "categories"].values == sum(range(1, 13)) + 12
    for writes in range(3):
        table = f"table-{writes}"
        meter = Meter(store_url, table)
        meter.enter(whole)
        hour(meter)
        assert meter.keeper.save()
        meter.store.writes = writes
        meter.keeper.forget(FIRST + 5)
        meter.store.writes, meter.position = NEVER, len(whole)
        if killed:
            meter = Meter(store_url, table)
        assert hour(meter) == expected
        meter.enter(whole)
        meter.keeper.forget(FIRST + 7)  # requests the hour if it is not loaded
        meter.keeper.load()
        meter.keeper.forget(FIRST + 7)
        assert min(minute for _, minute in meter.board.ledger.minutes) == FIRST + 7
        assert hour(meter) == hour(Meter(store_url, table)) == expected


def test_cards_outlive_their_expired_neighbours(store_url: str) -> None:
    store = Store("meter", store_url)
    store.ensure()
    meter = Meter(store_url)
    meter.enter(ledger(1))
    meter.keeper.save()
    expiry = [item.expires_s for item in store.query("card/acme")]
    assert expiry == [FIRST * 60 + 400 * 86_400]
    assert [item.expires_s for item in store.query("state")] == [None, None]
    assert isinstance(next(store.query("position")), Item)


@pytest.fixture
def split(store_url: str, monkeypatch: pytest.MonkeyPatch) -> Meter:
    """Two minutes are stored; items of more than 60 bytes are split from now on."""
    meter = Meter(store_url)
    meter.enter(ledger(2, ("acme",)))
    assert meter.keeper.save()
    monkeypatch.setattr("pipelines.control.observe.dynamodb.PART_BYTES", 60)
    return meter


def expire(meter: Meter, kind: str) -> None:
    """Delete all parts but the first from the first minute's item of a kind."""
    found = meter.store.query(f"{kind}#parts")
    parts = [item for item in found if item.sk.startswith(f"{FIRST:010d}/acme/")]
    assert len(parts) > 1
    meter.store.delete_all((item.pk, item.sk) for item in parts[1:])


def test_a_state_whose_parts_have_expired_keeps_no_process_from_starting(
    split: Meter, store_url: str
) -> None:
    split.tables.write([state_item(split.board.ledger.minutes["acme", FIRST])])
    assert len(list(split.tables.states())) == 2
    expire(split, "state")
    assert list(Meter(store_url).board.ledger.minutes) == [("acme", FIRST + 1)]


def test_findings_whose_parts_have_expired_keep_no_process_from_starting(
    split: Meter, store_url: str
) -> None:
    found = Identified(counted={Key(Reconciliation.INGEST): dict.fromkeys(range(100), -1)})
    split.tables.write([findings_item(("acme", minute), found) for minute in (FIRST, FIRST + 1)])
    assert split.tables.findings() == {("acme", FIRST): found, ("acme", FIRST + 1): found}
    expire(split, "found")
    assert list(Meter(store_url).tables.findings()) == [("acme", FIRST + 1)]
