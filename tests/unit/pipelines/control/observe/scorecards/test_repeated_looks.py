"""A look at unchanged minutes costs little, however many events wait."""

import cProfile
from typing import Final

import pytest

from pipelines.control.observe.ledger.watermarks import WRITING
from pipelines.control.observe.scorecards.minute_state import MinuteTracker
from pipelines.control.observe.verdicts.event_identification import find
from pipelines.control.observe.verdicts.verdicts import ReadProgress
from shared.contracts.ledger import Stage
from shared.contracts.scorecard import ALL_TENANTS, MinuteCard
from tests.unit.pipelines.control.observe.judged import hop
from tests.unit.pipelines.control.observe.world import LATER, MINUTE, MINUTE_START, SETTLE, TENANT, World

MINUTES: Final = 5
BEFORE_RETRY: Final = ("ingest", "route", "transmit", WRITING)


def waiting(_id: str, _pipe: str) -> str:
    return "waiting"


def away(events: int, minutes: int = 1) -> World:
    """A destination is away: a number of events of each minute wait."""
    world = World()
    for at in range(minutes):
        world.send([f"{at}-{number}" for number in range(events)], outcomes=waiting, minute=MINUTE - at)
    return world


class Meter:
    """A tracker that has applied all of a world's records so far."""

    def __init__(self, world: World) -> None:
        self._world, self.tracker = world, MinuteTracker(SETTLE)
        self.cards: dict[tuple[str, int], MinuteCard] = {}
        """The newest card of each tenant and minute."""

        self._tallied: dict[tuple[str, int], int] = {}
        self._offset, self._now_ms = 0, LATER

    def read(self) -> None:
        """Apply the world's new records."""
        for place, end in self._world.ends.items():
            start = self._tallied.get(place, 0)
            if start < end:
                found = self._world.tallied(place, start, end)
                self.tracker.ledger.apply(found, self._offset, MINUTE_START + 60_000)
                self._tallied[place], self._offset = end, self._offset + 1

    def look(self) -> list[MinuteCard]:
        """The cards that change with the next look."""
        self._now_ms += 5_000
        marks = self._world.passed(nodes=BEFORE_RETRY).marks
        cards = self.tracker.judge(ReadProgress(marks=marks, read_to_ms=LATER), self._now_ms)
        self.cards |= {(card.tenant, card.minute): card for card in cards}
        return cards

    def totals(self) -> list[MinuteCard]:
        """The changed cards of all tenants."""
        return [card for card in self.look() if card.tenant == ALL_TENANTS]

    def calls(self) -> int:
        """Number of Python functions that the next look calls."""
        profile = cProfile.Profile()
        profile.runcall(self.look)
        return sum(entry.callcount for entry in profile.getstats())


@pytest.mark.parametrize("events", [100, 300], ids=["named", "too many to name"])
def test_the_ids_of_waiting_events_are_found_once_while_nothing_changes(events: int) -> None:
    world = away(events, MINUTES)
    meter = Meter(world)
    meter.read()
    first = meter.calls()
    assert meter.tracker.open_minutes == MINUTES
    assert meter.calls() < first / 20
    world.send(["more"], outcomes=waiting)
    meter.read()
    assert first / 20 < meter.calls() < first / 2, "of the minute that has changed alone"
    minutes = range(MINUTE - MINUTES + 1, MINUTE + 1)
    for tenant in (TENANT, ALL_TENANTS):
        waits = [meter.cards[tenant, minute].waiting for minute in minutes]
        assert waits == [events] * (MINUTES - 1) + [events + 1]


def test_cards_are_made_of_minutes_that_change() -> None:
    world = away(3, 2)
    meter = Meter(world)
    meter.read()
    assert [(card.minute, card.waiting) for card in meter.totals()] == [(MINUTE - 1, 3), (MINUTE, 3)]
    assert meter.look() == []
    world.send(["more"])
    meter.read()
    (changed,) = meter.totals()
    assert (changed.minute, changed.delivered, changed.waiting) == (MINUTE, 1, 3)
    world.send(["other"], tenant="zoo")
    meter.read()
    (changed,) = meter.totals()
    assert (changed.minute, changed.delivered, changed.waiting) == (MINUTE, 2, 3)
    assert meter.look() == []


def test_a_change_that_was_stored_before_it_was_judged_reaches_the_cards() -> None:
    world = away(3)
    meter = Meter(world)
    meter.read()
    meter.look()
    world.send(["more"])
    meter.read()
    assert meter.tracker.unsaved()
    assert [card.delivered for card in meter.totals()] == [1]


def test_events_that_are_named_reach_the_cards() -> None:
    world = World(lost={(Stage.EVENTS, "", "gone")}).send(["gone", "kept"], outcomes=waiting)
    meter = Meter(world)
    meter.read()
    (before,) = meter.totals()
    assert [event.id for event in hop(before, "ingest").named] == [""]
    ((key, plan),) = meter.tracker.plans()
    meter.tracker.found(key, find(plan, world.seen()))
    (after,) = meter.totals()
    assert [event.id for event in hop(after, "ingest").named] == ["gone"]
