"""A node that could read but does not is stalled, since a known time."""

from pipelines.control.observe.health.stall_detection import StallDetection, held, overdue
from pipelines.control.observe.ledger.watermarks import OffsetsSnapshot

PLACE, WAITING = ("events", 0), ("retry_in.1h", 0)


def look(at_ms: int, read: int, end: int) -> OffsetsSnapshot:
    return OffsetsSnapshot(
        at_ms, {"route": {PLACE: read}, "retry": {WAITING: 0}}, {PLACE: end, WAITING: 4}, {}
    )


def test_moved_is_when_offsets_changed_or_there_was_nothing_to_read() -> None:
    movement = StallDetection(60_000)

    def told(at_ms: int, read: int, end: int) -> tuple[int, int]:
        nodes = {node.node: node for node in movement.take(look(at_ms, read, end), [WAITING])}
        assert nodes["retry"].readable == 0, "waiting records are not due yet"
        assert nodes["retry"].moved_ms == at_ms
        return nodes["route"].readable, nodes["route"].moved_ms

    assert told(1, 5, 5) == (0, 1)
    assert told(2, 5, 5) == (0, 2), "idle"
    assert told(3, 5, 8) == (3, 2)
    assert told(4, 6, 8) == (2, 4)
    assert told(5, 6, 9) == (3, 4)
    assert told(6, 9, 9) == (0, 6)


def test_due_records_that_are_not_read_count() -> None:
    movement = StallDetection(60_000)
    for at_ms in (1, 50):
        nodes = {node.node: node for node in movement.take(look(at_ms, 0, 0), [])}
    assert (nodes["retry"].readable, nodes["retry"].moved_ms) == (4, 1)


def test_a_topic_is_as_late_as_its_latest_partition_whatever_the_others_do() -> None:
    due = {("retry_in.1h", 0): 9_000, ("retry_in.1h", 1): 2_000, ("retry_in.5m", 0): 60_000}
    assert overdue(due, 10_000) == {"retry_in.30s": 0, "retry_in.5m": 0, "retry_in.1h": 8}
    assert held(due, 10_000) == {("retry_in.5m", 0)}


def test_time_without_looks_counts_against_no_node_that_has_not_moved() -> None:
    """The brokers did not answer the node either, or the whole machine was suspended."""
    movement, moved = StallDetection(20_000), []
    for at_ms in (0, 5_000, 3_600_000, 3_605_000):
        nodes = {node.node: node for node in movement.take(look(at_ms, 5, 8), [])}
        moved.append((at_ms - nodes["route"].moved_ms) / 1_000)
    assert moved == [0, 5, 25, 30]
