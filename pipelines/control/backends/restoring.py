"""Sets a parked side to positions, and lets ingest mark what it is to process again.

The meter is not set back: what it repeated, cut into other ranges than before, would not fit those in its
ledger, and events would count as lost. Without a checkpoint it goes on where its ledger ends.

What ingest marks ends where `collected` ends. A real-time batch that was cut off left no trace in the
checkpoint, so a version may have processed all that was there when it was stopped, whatever it says.
"""

from collections.abc import Mapping
from typing import Final

from confluent_kafka import Consumer, TopicPartition

from pipelines.control.backends.checkpoints import CheckpointStore, Offsets, by_topic, write_checkpoint
from pipelines.control.deploy.backend import CannotReplayError
from shared.contracts.releases import Positions
from shared.contracts.replay_range import (
    REPLAY_FILE,
    REPLAYING_NODE,
    ReplayRange,
    decode_replay_range,
    replay_of,
)
from shared.contracts.topology import METERING_NODE
from shared.kafka.admin import admin_client
from shared.kafka.background_reader import reader_config
from shared.kafka.group_positions import commit_positions
from shared.kafka.retained_offsets import RetainedOffsets, retained_offsets
from shared.runtime.logging import get_logger

_log = get_logger(__name__)
_ANSWER_SECONDS: Final = 10.0


def restore_side(
    bootstrap: str,
    checkpoints: CheckpointStore,
    positions: Positions,
    replayed: Positions | None,
    *,
    marks: bool,
) -> None:
    """Let the code that is started next on a parked side begin at these positions.

    Args:
        bootstrap: of the side.
        checkpoints: of the side.
        positions: where to begin.
        replayed: where the bad version stood; None marks only what is left of an earlier replay.
        marks: whether the version that is started next can mark what it processes again.

    Raises:
        CannotReplayError: if what is read again cannot be marked, or is gone.
        KafkaException, OSError: if the brokers do not answer, or a checkpoint cannot be written.
    """
    replay = (
        _unfinished(checkpoints, positions)
        if replayed is None
        else _replay(bootstrap, positions, replayed, marks=marks)
    )
    for query, offsets in positions.queries.items():
        write_checkpoint(checkpoints, query, offsets, replay if query == REPLAYING_NODE else None)
    checkpoints.replace(METERING_NODE, {})
    admin = admin_client(bootstrap)
    for group, offsets in positions.groups.items():
        commit_positions(admin, group, offsets)


def _replay(bootstrap: str, positions: Positions, replayed: Positions, *, marks: bool) -> ReplayRange:
    problem = unmarked(positions, replayed)
    if problem:
        raise CannotReplayError(problem)
    if not marks:
        raise CannotReplayError("the version that serves is too old to mark what it processes again")
    since = positions.queries[REPLAYING_NODE]
    held = _held(bootstrap, since)
    gone = sum(max(0, held[name].first - offset) for name, offset in since.items())
    if gone:
        raise CannotReplayError(f"{gone:,} of the records that it would begin with are deleted")
    return replay_of(by_topic(since), by_topic({name: held[name].end for name in since}))


def _unfinished(checkpoints: CheckpointStore, positions: Positions) -> ReplayRange | None:
    """The replay that the side was in the middle of, which goes on: what is read of it was read before."""
    written = checkpoints.read(REPLAYING_NODE, REPLAY_FILE)
    try:
        replay = None if written is None else decode_replay_range(written)
    except ValueError:  # spoilt by the version that was stopped
        return None
    reached = by_topic(positions.queries.get(REPLAYING_NODE, {}))
    return replay if replay is not None and replay.left(reached) else None


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
