"""While brokers do not answer, observe cannot tell whether a node has stalled."""

from shared.contracts.alarms import AlarmKind
from tests.unit.pipelines.control.observe.conftest import Start
from tests.unit.pipelines.control.observe.looped import Looped
from tests.unit.pipelines.control.observe.world import MINUTE_START, World

NOW = MINUTE_START + 90_000
WORLD = World().send(["a", "b"])
BEHIND = {AlarmKind.METER: ["meter"]}


def with_unread_events(observe: Looped, *nodes: str) -> None:
    """audit has read everything, and these nodes have read nothing."""
    observe.brokers.written(WORLD.ends)
    observe.brokers.committed |= {node: {} for node in nodes}
    observe.enter(WORLD.ranges())


def test_no_node_is_stalled_while_brokers_do_not_answer_nor_just_after(start: Start) -> None:
    observe = start(NOW)
    with_unread_events(observe, "ingest", "route")
    observe.look()
    observe.brokers.away = True
    observe.look(seconds=600)
    assert observe.open_alarms() == BEHIND
    observe.brokers.away = False
    observe.look()
    assert observe.open_alarms() == {}, "the nodes had no answers either"
    observe.look(seconds=65)
    assert observe.open_alarms() == {AlarmKind.STALLED: ["ingest", "route"]}


def test_a_node_that_moves_meanwhile_is_not_stalled_afterwards(start: Start) -> None:
    observe = start(NOW)
    with_unread_events(observe, "route")
    observe.look()
    observe.brokers.away = True
    observe.look(seconds=600)
    observe.brokers.away = False
    observe.brokers.committed["route"] = {("events", 0): 1}
    observe.look(seconds=60)
    assert observe.open_alarms() == {}


def test_a_node_that_is_stalled_stays_so_while_brokers_do_not_answer_a_new_process(start: Start) -> None:
    former = start(NOW)
    with_unread_events(former, "route")
    former.look(seconds=65)
    assert former.open_alarms() == {AlarmKind.STALLED: ["route"]}
    former.close()
    observe = start(former.now_ms, former.store)
    observe.brokers.written(WORLD.ends)
    observe.brokers.away = True
    observe.look(seconds=30)
    assert observe.open_alarms() == {AlarmKind.STALLED: ["route"]}
    observe.brokers.away = False
    observe.look()
    assert observe.open_alarms() == {}, "it has read everything"
