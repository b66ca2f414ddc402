"""A clock that was ahead for one look and is then set back stops nothing and settles nothing early."""

from collections.abc import Sequence

from shared.contracts.alarms import AlarmKind
from shared.contracts.ledger import Range, Stage
from shared.contracts.scorecard import ALL_TENANTS, MinuteCard
from shared.contracts.timestamps import day_of
from tests.unit.pipelines.control.observe.conftest import Start
from tests.unit.pipelines.control.observe.looped import Looped
from tests.unit.pipelines.control.observe.world import MINUTE, MINUTE_START, World

NOW = MINUTE_START + 90_000
AHEAD = NOW + 3_600_000
DAY = day_of(MINUTE)


def later(world: World, *lost: str) -> Sequence[Range]:
    """The ledger of two events of a new tenant; ingest loses those in `lost`."""
    before = dict(world.ends)
    world.lost |= {(Stage.EVENTS, "", each) for each in lost}
    world.send(["x", "y"], tenant="zoo")
    ranges = world.ranges(lambda place, _: [before.get(place, 0)])
    return [each for each in ranges if each.start >= before.get((each.topic.value, each.partition), 0)]


def ahead(start: Start, world: World, **given: object) -> Looped:
    """A process that looked once at all of the world's events while its clock was ahead."""
    observe = start(AHEAD, **given)
    observe.brokers.written(world.ends)
    observe.enter(world.ranges())
    observe.look()
    observe.now_ms = NOW
    return observe


def card(observe: Looped, tenant: str) -> MinuteCard:
    found = observe.loop.snapshot.card(tenant, MINUTE)
    assert found is not None
    return found


def test_a_loss_that_is_found_afterwards_is_stored_shown_and_an_alarm(start: Start) -> None:
    world = World().send(["a", "b"])
    observe = ahead(start, world)
    lossy = later(world, "x")
    observe.brokers.written(world.ends)
    observe.enter(lossy)
    observe.look()
    assert set(observe.tables.tenants()) == {"acme", "zoo"}
    stored = observe.tables.day(ALL_TENANTS, DAY)
    assert stored is not None and (stored.collected, stored.lost) == (4, 1)
    assert observe.loop.snapshot.days[ALL_TENANTS, DAY] == stored
    assert observe.open_alarms()[AlarmKind.LOSS] == ["ingest"]


def test_a_node_that_stands_still_afterwards_is_stalled_and_an_audit_that_does_is_behind(
    start: Start,
) -> None:
    world = World().send(["a", "b"])
    observe = start(AHEAD)
    observe.brokers.written({place: end + 1 for place, end in world.ends.items()})
    observe.brokers.committed["route"] = {}
    observe.enter(world.ranges())
    observe.look()
    observe.now_ms = NOW
    observe.look(seconds=60)
    assert observe.open_alarms() == {}
    observe.look(seconds=5)
    assert observe.open_alarms() == {AlarmKind.STALLED: ["route"], AlarmKind.METER: ["meter"]}


def test_brokers_that_do_not_answer_afterwards_leave_the_meter_behind(start: Start) -> None:
    observe = ahead(start, World().send(["a", "b"]))
    observe.brokers.away = True
    observe.look(seconds=65)
    assert observe.open_alarms() == {AlarmKind.METER: ["meter"]}


def outputs_first(observe: Looped, world: World) -> None:
    """audit has not read the rest of `collected`: nothing is doubled, and nothing settled."""
    ranges = later(world)
    observe.brokers.written(world.ends)
    observe.enter(each for each in ranges if each.topic != "collected")
    observe.look()
    assert (card(observe, "zoo").doubled, card(observe, "zoo").settled) == (0, False)
    observe.enter(each for each in ranges if each.topic == "collected")
    observe.look(seconds=10)
    assert (card(observe, "zoo").doubled, card(observe, "zoo").settled) == (0, True)


def test_events_that_are_tallied_before_their_input_are_not_doubled(start: Start) -> None:
    world = World().send(["a", "b"])
    outputs_first(ahead(start, world), world)


def test_nor_are_they_for_a_process_that_begins_after_the_clock_was_set_back(start: Start) -> None:
    world = World().send(["a", "b"])
    former = ahead(start, world)
    former.close()
    outputs_first(start(NOW, former.store), world)


def test_a_minute_that_was_tallied_by_the_clock_ahead_settles_in_time(start: Start) -> None:
    observe = ahead(start, World().send(["a", "b"]), settle_seconds=180)
    observe.look(seconds=170)
    assert not card(observe, "acme").settled
    observe.look(seconds=20)
    assert card(observe, "acme").settled


def test_a_minute_tallied_by_a_clock_ahead_settles_after_a_restart(start: Start) -> None:
    world = World().send(["a", "b"])
    former = ahead(start, world, settle_seconds=180)
    former.close()
    observe = start(NOW, former.store, settle_seconds=180)
    observe.brokers.written(world.ends)
    observe.look(seconds=190)
    assert card(observe, "acme").settled
