"""Sets a parked local side to positions, and lets ingest mark what it is to process again.

What ingest marks ends where `collected` ends. A real-time batch that was cut off left no trace in the
checkpoint, so a version may have processed all that was there when it was stopped, whatever it says.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from confluent_kafka import Consumer, TopicPartition

from pipelines.control.deploy.backend import CannotReplayError
from scripts.local.side import Side
from scripts.local.twins.positions import Offsets, by_topic, commit_positions, write_checkpoint
from scripts.local.twins.versions import CHECKOUT
from shared.contracts.releases import Positions
from shared.contracts.replay_range import REPLAYING_NODE, ReplayRange, replay_of
from shared.kafka.admin import admin_client
from shared.kafka.background_reader import reader_config
from shared.kafka.retained_offsets import RetainedOffsets, retained_offsets
from shared.runtime.logging import get_logger

_log = get_logger(__name__)
_ANSWER_SECONDS: Final = 10.0
_MARKING: Final = Path("shared/contracts/replay_range.py")
"""A version without it marks nothing."""


def restore_side(side: Side, serving: Side, positions: Positions, replayed: Positions | None) -> None:
    """Let the code that is started next on a parked side begin at these positions.

    Args:
        side: parked.
        serving: the side with the version that is started next.
        positions: where to begin.
        replayed: where the bad version stood; None marks nothing.

    Raises:
        CannotReplayError: if what is read again cannot be marked, or is gone.
        KafkaException, OSError: if the brokers do not answer, or a checkpoint cannot be written.
    """
    replay = None if replayed is None else _replay(side, serving, positions, replayed)
    for query, offsets in positions.queries.items():
        own = replay if query == REPLAYING_NODE else None
        write_checkpoint(side.checkpoints / query, offsets, own)
    admin = admin_client(side.bootstrap)
    for group, offsets in positions.groups.items():
        commit_positions(admin, group, offsets)


def _replay(side: Side, serving: Side, positions: Positions, replayed: Positions) -> ReplayRange:
    problem = unmarked(positions, replayed)
    if problem:
        raise CannotReplayError(problem)
    source = (serving.code.source if serving.code else None) or CHECKOUT
    if not (source / _MARKING).exists():
        raise CannotReplayError("the version that serves is too old to mark what it processes again")
    since = positions.queries[REPLAYING_NODE]
    held = _held(side.bootstrap, since)
    gone = sum(max(0, held[name].first - offset) for name, offset in since.items())
    if gone:
        raise CannotReplayError(f"{gone:,} of the records that it would begin with are deleted")
    return replay_of(by_topic(since), by_topic({name: held[name].end for name in since}))


def unmarked(positions: Positions, replayed: Positions) -> str:
    """Why what would be read again cannot be marked; empty if it can: ingest alone marks."""
    if not positions.queries.get(REPLAYING_NODE):
        return f"it is not known where {REPLAYING_NODE} stood before"
    back = [
        query
        for query, offsets in positions.queries.items()
        if query != REPLAYING_NODE and _behind(offsets, replayed.queries.get(query, {}))
    ]
    return f"{', '.join(sorted(back))} would read again what only {REPLAYING_NODE} can mark" if back else ""


def _behind(offsets: Offsets, reached: Mapping[str, int]) -> bool:
    return any(offset < reached.get(name, 0) for name, offset in offsets.items())


def _held(bootstrap: str, offsets: Offsets) -> dict[str, RetainedOffsets]:
    """By `topic/partition`, which records there are."""
    consumer = Consumer(reader_config(bootstrap, "hifi-restore"), logger=_log)
    try:
        return {
            name: retained_offsets(consumer, TopicPartition(topic, int(partition)), seconds=_ANSWER_SECONDS)
            for name in offsets
            for topic, _, partition in [name.rpartition("/")]
        }
    finally:
        consumer.close()
