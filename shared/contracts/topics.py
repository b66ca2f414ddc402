"""Every topic of a side: its name, its retention, its limits. The only owner of these facts."""

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

from shared.contracts.limits import MAX_RECORD_BYTES


class Topic(StrEnum):
    """Topic names; a member is its own name on the wire."""

    CONFIG = "config"
    HEARTBEATS = "heartbeats"
    KEY_USAGE = "key_usage"
    COLLECTED = "collected"
    EVENTS = "events"
    UNMATCHED = "unmatched"
    OUTBOUND = "outbound"
    OUTBOUND_SLOW = "outbound_slow"
    RECEIPTS = "receipts"
    RETRY_IN_30S = "retry_in.30s"
    RETRY_IN_5M = "retry_in.5m"
    RETRY_IN_1H = "retry_in.1h"
    RETRY_OUT = "retry_out"
    DEAD_LETTER = "dead_letter"
    REPLAYED = "replayed"
    QUARANTINE = "quarantine"
    LEDGER = "ledger"
    TRACES = "traces"


RETRY_DELAYS: dict[Topic, timedelta] = {
    Topic.RETRY_IN_30S: timedelta(seconds=30),
    Topic.RETRY_IN_5M: timedelta(minutes=5),
    Topic.RETRY_IN_1H: timedelta(hours=1),
}
"""The retry topics, shortest delay first."""

TALLIED = (
    Topic.COLLECTED,
    Topic.EVENTS,
    Topic.UNMATCHED,
    Topic.OUTBOUND,
    Topic.RETRY_OUT,
    Topic.RECEIPTS,
    *RETRY_DELAYS,
    Topic.DEAD_LETTER,
    Topic.QUARANTINE,
)
"""The topics that audit reads: every hop's."""

REPLICAS = 3
MIN_IN_SYNC_REPLICAS = 2

REPLAYABLE = timedelta(days=3)
"""Retention of the busy topics: enough to replay after a rollback."""

KEPT = timedelta(days=14)
"""How long dead letters can be replayed, events wait for a try, and records of the meter are kept."""

_SEGMENT = timedelta(days=7)  # Kafka's default
# Kafka deletes whole segments: a letter may stay longer by one, and the record of its replay longer still.
_REPLAYS_KEPT = KEPT + _SEGMENT + timedelta(days=1)

COMMITS_KEPT = KEPT + _SEGMENT + timedelta(days=1)
"""How long brokers keep the offsets of a group without members: for longer than the records before them,
which would be sent again."""

_SHORT = timedelta(hours=1)


@dataclass(frozen=True, kw_only=True)
class TopicSpec:
    """The settings that a topic is created with. `retention` None means for ever (compacted)."""

    name: str
    partitions: int
    retention: timedelta | None

    def config(self) -> dict[str, str]:
        """Broker-side topic configuration, as Kafka spells it."""
        keep = (
            {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.1"}
            if self.retention is None
            else {"cleanup.policy": "delete", "retention.ms": str(int(self.retention.total_seconds() * 1000))}
        )
        if self.retention == _SHORT:  # only whole segments are deleted
            keep |= {"segment.ms": keep["retention.ms"]}
        return keep | {
            "min.insync.replicas": str(MIN_IN_SYNC_REPLICAS),
            "unclean.leader.election.enable": "false",
            "compression.type": "producer",
            "max.message.bytes": str(MAX_RECORD_BYTES),
        }


def topic_specs(partitions: int) -> tuple[TopicSpec, ...]:
    """Specs of all topics of a side; its busy topics have `partitions` partitions each."""
    busy = (Topic.COLLECTED, Topic.EVENTS, Topic.OUTBOUND, Topic.RECEIPTS)
    quiet = (Topic.UNMATCHED, Topic.TRACES)
    # The only copy of an event that is owed, once `outbound` has lost its own. It waits on a parked side too.
    waiting = (Topic.OUTBOUND_SLOW, *RETRY_DELAYS, Topic.RETRY_OUT)
    kept = (*waiting, Topic.DEAD_LETTER, Topic.QUARANTINE, Topic.LEDGER)
    return (
        TopicSpec(name=Topic.CONFIG, partitions=1, retention=None),
        TopicSpec(name=Topic.HEARTBEATS, partitions=1, retention=_SHORT),
        TopicSpec(name=Topic.KEY_USAGE, partitions=1, retention=_SHORT),
        *(TopicSpec(name=name, partitions=partitions, retention=REPLAYABLE) for name in busy),
        *(TopicSpec(name=name, partitions=1, retention=REPLAYABLE) for name in quiet),
        *(TopicSpec(name=name, partitions=1, retention=KEPT) for name in kept),
        TopicSpec(name=Topic.REPLAYED, partitions=1, retention=_REPLAYS_KEPT),
    )


REHEARSAL = "rehearsal."
"""Before the names of the topics on which a standby Spark driver rehearses."""


def rehearsal_specs() -> tuple[TopicSpec, ...]:
    """Specs of a rehearsal's topics: those that the Spark queries read, and what they write.

    They need no room of their own: what was rehearsed an hour ago is deleted.
    """
    names = dict.fromkeys((*TALLIED, Topic.OUTBOUND_SLOW, Topic.LEDGER))
    return tuple(TopicSpec(name=REHEARSAL + name, partitions=1, retention=_SHORT) for name in names)


def retention(topic: Topic) -> timedelta | None:
    """How long a side keeps the records of a topic; None for ever."""
    return next(spec.retention for spec in topic_specs(1) if spec.name == topic)
