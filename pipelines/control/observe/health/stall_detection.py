"""Which nodes get on, and since when one has not. Pure."""

from collections.abc import Collection, Mapping

from pipelines.control.observe.alarms.inputs import NodeProgress
from pipelines.control.observe.ledger.watermarks import Offsets, OffsetsSnapshot, Partition
from shared.contracts.topology import CHAIN_GROUPS, INPUTS


def unread(look: OffsetsSnapshot, node: str) -> Mapping[Partition, int]:
    """Records before a node, by partition; partitions without any are left out."""
    read = look.committed.get(node, {})
    lags = {place: end - read.get(place, 0) for place, end in look.ends_of(INPUTS[node]).items()}
    return {place: records for place, records in lags.items() if records > 0}


def held(due: Mapping[Partition, int], at_ms: int) -> frozenset[Partition]:
    """The retry topics' partitions with no due record at their head.

    Args:
        due: when the first unread record of a partition is due, epoch milliseconds.
        at_ms: now, epoch milliseconds.
    """
    return frozenset(place for place, due_ms in due.items() if due_ms > at_ms)


def overdue(due: Mapping[Partition, int], at_ms: int) -> Mapping[str, float]:
    """Seconds since the first record of the latest partition was due, by retry topic."""
    found = dict.fromkeys(map(str, INPUTS["retry"]), 0.0)
    for (topic, _), due_ms in due.items():
        found[topic] = max(found[topic], (at_ms - due_ms) / 1_000)
    return found


class StallDetection:
    """Compares each snapshot with the ones before it."""

    def __init__(self, patience_ms: int) -> None:
        """At most `patience_ms` between two snapshots count against a node that has not moved.

        A longer gap has a cause of its own: brokers that did not answer, or a process that was suspended.
        """
        self._patience_ms = patience_ms
        self._offsets: dict[str, Offsets] = {}
        self._moved_ms: dict[str, int] = {}
        self._seen_ms: int | None = None

    def set_back(self, now_ms: int) -> None:
        """The clock was set back to now: nothing was seen later."""
        self._moved_ms = {node: min(at_ms, now_ms) for node, at_ms in self._moved_ms.items()}
        self._seen_ms = None if self._seen_ms is None else min(self._seen_ms, now_ms)

    def take(self, look: OffsetsSnapshot, patient: Collection[Partition]) -> list[NodeProgress]:
        """The progress of every node. `patient` are partitions with no due record at their head."""
        excused_ms = self._excused_ms(look.at_ms)
        found = []
        for node in CHAIN_GROUPS:
            offsets = look.committed.get(node, {})
            waiting = {place: n for place, n in unread(look, node).items() if place not in patient}
            moved = not waiting or offsets != self._offsets.get(node)
            self._moved_ms[node] = look.at_ms if moved else self._moved_ms[node] + excused_ms
            self._offsets[node] = offsets
            found.append(
                NodeProgress(node=node, readable=sum(waiting.values()), moved_ms=self._moved_ms[node])
            )
        return found

    def _excused_ms(self, at_ms: int) -> int:
        """The part of the time since the last snapshot that counts against no node."""
        seen_ms, self._seen_ms = self._seen_ms, at_ms
        return 0 if seen_ms is None else max(0, at_ms - seen_ms - self._patience_ms)
