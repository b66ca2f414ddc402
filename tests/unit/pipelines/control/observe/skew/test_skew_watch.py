"""The hours that are compared, on a given clock; from tallies to the alarm."""

from collections.abc import Iterable

import pytest

from pipelines.control.observe.alarms.skew_rules import skewed
from pipelines.control.observe.ledger.minute_sums import MinuteState
from pipelines.control.observe.skew.comparison import SkewBounds
from pipelines.control.observe.skew.skew_watch import BASELINE_DAYS, SkewWatch
from pipelines.control.observe.skew.watched_hours import RetiredHour, WatchedHours
from shared.contracts.alarms import AlarmKind, Audience
from shared.contracts.document_parsing import parse
from shared.contracts.documents import Catalogue, Entry
from shared.contracts.field_counts import FieldCounts
from shared.contracts.ledger import Stage, Tally
from shared.contracts.skew import FieldSkew, SkewState
from tests.unit.pipelines.control.observe.alarm_inputs import inputs

HOUR = 483_000
BOUNDS = SkewBounds(least_events=1_000, psi=0.2, missing=0.05)
DAY = 24
KEY = ("p", "data.country", "categories")


def state(minute: int, texts: dict[str, int], missing: int = 0, tenant: str = "acme") -> MinuteState:
    """The state of a minute with one tally."""
    events = sum(texts.values()) + missing
    counts = FieldCounts(events=events, missing=missing, texts=texts)
    tally = Tally(
        stage=Stage.FIRST,
        tenant=tenant,
        minute=minute,
        name="p",
        count=events,
        first=0,
        last=events,
        watched={("data.country", "categories"): counts},
    )
    found = MinuteState(tenant, minute)
    found.add(tally, ("outbound", 0), 0)
    return found


class World:
    """Minutes in observe's memory, and hours in its store."""

    def __init__(self) -> None:
        self.hours = WatchedHours()
        self.watch = SkewWatch(self.hours, BOUNDS, every_ms=60_000)
        self.states: dict[tuple[str, int], MinuteState] = {}
        self.stored: dict[tuple[str, int], RetiredHour] = {}

    def hold(self, *states: MinuteState) -> None:
        self.states |= {(each.tenant, each.minute): each for each in states}

    def store(self, hour: int, texts: dict[str, int], missing: int = 0) -> None:
        counts = FieldCounts(events=sum(texts.values()) + missing, missing=missing, texts=texts)
        self.stored["acme", hour] = RetiredHour({hour * 60}, {KEY: counts})  # type: ignore[dict-item]

    def load(self) -> None:
        for key in self.hours.unloaded():
            self.hours.merge(key, self.stored.get(key, RetiredHour()))

    def look(self, minute: int) -> list[FieldSkew]:
        """Run two looks, and load the requested hours between them."""
        self.watch.look(self.states, minute * 60_000)
        self.load()
        return list(self.watch.look(self.states, minute * 60_000) or ())


@pytest.fixture
def world() -> World:
    """A week with half of 2,000 events an hour from each of two countries."""
    found = World()
    for day in range(1, BASELINE_DAYS + 1):
        for hour in (HOUR, HOUR - 1):
            found.store(hour - DAY * day, {"DE": 1_000, "AT": 1_000}, missing=20)
    return found


def only(found: Iterable[FieldSkew] | None) -> FieldSkew:
    (each,) = found or ()
    return each


def test_an_hour_like_the_days_before_is_even(world: World) -> None:
    world.hold(*(state(HOUR * 60 + at, {"DE": 100, "AT": 95}, missing=2) for at in range(10)))
    found = only(world.look(HOUR * 60 + 10))
    assert (found.state, found.hour_ms, found.events) == (SkewState.EVEN, HOUR * 3_600_000, 1_970)
    assert (found.days, found.events_before, found.changes) == (7, 7 * 2_020, [])
    assert found.psi is not None and found.psi < 0.01


def test_other_shares_are_skewed_and_said_in_words(world: World) -> None:
    world.hold(*(state(HOUR * 60 + at, {"DE": 190, "AT": 10}) for at in range(10)))
    found = only(world.look(HOUR * 60 + 10))
    assert found.state is SkewState.SKEWED
    assert found.psi is not None and found.psi > 0.2
    (change,) = found.changes
    assert "'AT' 5.00 %, before 50.00 %" in change
    assert [(bar.label, bar.now, bar.before) for bar in found.bars] == [("AT", 0.05, 0.5), ("DE", 0.95, 0.5)]


def test_more_events_without_a_value_are_skewed(world: World) -> None:
    world.hold(state(HOUR * 60, {"DE": 1_000, "AT": 1_000}, missing=150))
    found = only(world.look(HOUR * 60 + 10))
    assert found.changes == ["missing in 6.98 % of the events, before in 0.99 %"]


def test_a_field_that_is_missing_altogether_is_skewed(world: World) -> None:
    world.hold(state(HOUR * 60, {}, missing=2_000))
    found = only(world.look(HOUR * 60 + 10))
    assert (found.state, found.psi, found.missing) == (SkewState.SKEWED, None, 1.0)


@pytest.mark.parametrize(("events", "state_of"), [(999, SkewState.TOO_FEW), (1_000, SkewState.SKEWED)])
def test_few_events_are_not_compared(world: World, events: int, state_of: SkewState) -> None:
    world.hold(state(HOUR * 60, {"XX": events}))
    assert only(world.look(HOUR * 60)).state is state_of


def test_without_days_before_there_is_nothing_to_compare_with() -> None:
    world = World()
    world.hold(state(HOUR * 60, {"DE": 2_000}))
    found = only(world.look(HOUR * 60))
    assert (found.state, found.days) == (SkewState.NO_BASELINE, 0)


def test_one_day_before_is_enough() -> None:
    world = World()
    world.store(HOUR - DAY, {"DE": 2_000})
    world.hold(state(HOUR * 60, {"AT": 2_000}))
    found = only(world.look(HOUR * 60))
    assert (found.state, found.days) == (SkewState.SKEWED, 1)


def test_the_last_hour_stands_until_this_one_has_enough_events(world: World) -> None:
    """Otherwise an alarm would resolve at each full hour."""
    world.hold(state(HOUR * 60 - 5, {"DE": 2_000}), state(HOUR * 60, {"DE": 500, "AT": 499}))
    found = only(world.look(HOUR * 60))
    assert (found.state, found.hour_ms) == (SkewState.SKEWED, (HOUR - 1) * 3_600_000)
    world.hold(state(HOUR * 60 + 1, {"AT": 1}))
    found = only(world.look(HOUR * 60 + 1))
    assert (found.state, found.hour_ms) == (SkewState.EVEN, HOUR * 3_600_000)


def test_comparisons_stand_while_hours_are_not_loaded_and_until_it_is_time(world: World) -> None:
    minute = HOUR * 60
    world.hold(state(minute, {"DE": 2_000}))
    assert world.watch.look(world.states, minute * 60_000) is None
    world.load()
    before = world.watch.look(world.states, minute * 60_000)
    assert only(before).state is SkewState.SKEWED
    world.hold(state(minute + 1, {"AT": 2_000}))
    assert world.watch.look(world.states, minute * 60_000 + 59_999) is before
    assert only(world.watch.look(world.states, minute * 60_000 + 60_000)).state is SkewState.EVEN


def test_comparisons_are_made_again_when_a_clock_that_was_ahead_is_set_back(world: World) -> None:
    minute = HOUR * 60
    world.hold(state(minute, {"DE": 2_000}))
    world.look(minute + 60)
    world.hold(state(minute + 1, {"AT": 2_000}))
    assert only(world.look(minute)).state is SkewState.EVEN


def test_minutes_that_are_dropped_count_on_once(world: World) -> None:
    states = [state(HOUR * 60 + at, {"DE": 100, "AT": 100}) for at in range(10)]
    world.hold(*states)
    before = world.look(HOUR * 60 + 10)
    for each in states[:6]:
        assert world.hours.retirable(each)
        key, hour = world.hours.retire(each)
        assert world.hours.retire(each) == (key, hour), "a store that failed: it is done again"
        world.stored[key] = hour
    assert world.look(HOUR * 60 + 11) == before
    for each in states[:6]:
        del world.states[each.tenant, each.minute]
    assert world.look(HOUR * 60 + 12) == before


def test_an_hour_that_is_not_loaded_is_not_written_over(world: World) -> None:
    old = state((HOUR - 5) * 60, {"DE": 1})
    assert not world.hours.retirable(old)
    assert ("acme", HOUR - 5) in world.hours.unloaded()
    world.load()
    assert world.hours.retirable(old)


def test_without_watches_nothing_is_loaded_or_compared() -> None:
    world = World()
    world.hold(MinuteState("acme", HOUR * 60))
    assert world.look(HOUR * 60) == []
    assert world.hours.unloaded() == []


PIPE = {"kind": "pipe", "name": "p", "tenant": "acme", "source": "s", "destination": "d"}


def test_a_skewed_field_is_an_alarm_for_the_customer_while_its_pipe_watches_it(world: World) -> None:
    world.hold(state(HOUR * 60, {"DE": 2_000}))
    found = inputs(skews=world.look(HOUR * 60))
    watching = parse(PIPE | {"watch": [{"field": "data.country", "kind": "categories"}]})
    (finding,) = skewed(found, Catalogue({b"p": Entry(version=1, document=watching)}))
    assert (finding.kind, finding.audience) == (AlarmKind.SKEW, Audience.CUSTOMER)
    assert (finding.tenant, finding.subject) == ("acme", "p data.country")
    assert finding.text.startswith(
        "field data.country of pipe p differs from the same hour of the 7 days before: PSI "
    )
    assert not list(skewed(found, Catalogue({b"p": Entry(version=2, document=parse(PIPE))})))


def test_an_even_field_is_no_alarm(world: World) -> None:
    world.hold(state(HOUR * 60, {"DE": 1_000, "AT": 1_000}))
    watching = parse(PIPE | {"watch": [{"field": "data.country", "kind": "categories"}]})
    catalogue = Catalogue({b"p": Entry(version=1, document=watching)})
    assert not list(skewed(inputs(skews=world.look(HOUR * 60)), catalogue))
