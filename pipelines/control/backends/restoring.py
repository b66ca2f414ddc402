"""Sets a parked side to positions, and lets ingest mark what it is to process again.

The meter is not set back: what it repeated, cut into other ranges than before, would not fit those in its
ledger, and events would count as lost. Without a checkpoint it goes on where its ledger ends.

What ingest marks ends where `collected` ends. A real-time batch that was cut off left no trace in the
checkpoint, so a version may have processed all that was there when it was stopped, whatever it says. For
the same reason it begins in every partition that the topic has, also in those that it was given since: Spark
would read them from their first record, unmarked.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from confluent_kafka import KafkaError, KafkaException

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
from shared.contracts.topology import INPUTS, METERING_NODE
from shared.kafka.admin import admin_client
from shared.kafka.group_positions import commit_positions
from shared.kafka.offset_range_reader import OffsetRange, OffsetRangeReader
from shared.kafka.progress_group import group_name

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
    if replayed is None:
        replay = _unfinished(checkpoints, positions)
    else:
        positions, replay = _replay(bootstrap, positions, replayed, marks=marks)
    for query, offsets in positions.queries.items():
        write_checkpoint(checkpoints, query, offsets, replay if query == REPLAYING_NODE else None)
    checkpoints.replace(METERING_NODE, {})
    admin = admin_client(bootstrap)
    for group, offsets in positions.groups.items():
        commit_positions(admin, group, offsets)


def _replay(
    bootstrap: str, positions: Positions, replayed: Positions, *, marks: bool
) -> tuple[Positions, ReplayRange]:
    """The positions with partitions that were added since, and the records that are marked."""
    problem = unmarked(positions, replayed)
    if problem:
        raise CannotReplayError(problem)
    if not marks:
        raise CannotReplayError("the version that serves is too old to mark what it processes again")
    held = _held(bootstrap, positions.queries[REPLAYING_NODE])
    positions = _with_added(positions, held)
    since = positions.queries[REPLAYING_NODE]
    gone = sum(max(0, held[name].start - offset) for name, offset in since.items())
    if gone:
        raise CannotReplayError(f"{gone:,} of the records that it would begin with are deleted")
    return positions, replay_of(by_topic(since), by_topic({name: held[name].end for name in since}))


def _with_added(positions: Positions, names: Iterable[str]) -> Positions:
    """Add missing partitions, from their beginning, for the query that goes back and its group."""
    begins, group = dict.fromkeys(names, 0), group_name(REPLAYING_NODE)
    queries = {REPLAYING_NODE: begins | positions.queries[REPLAYING_NODE]}
    # Or the lag in them would be that of the version before.
    groups = {group: begins | positions.groups[group]} if group in positions.groups else {}
    return Positions(queries=positions.queries | queries, groups=positions.groups | groups)


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


def _held(bootstrap: str, since: Offsets) -> dict[str, OffsetRange]:
    """The records held by each partition that the query reads; each partition of `since` must be there."""
    with OffsetRangeReader(bootstrap, "hifi-restore", seconds=_ANSWER_SECONDS) as reader:
        found = {f"{each.topic}/{each.partition}": each for each in reader.whole(INPUTS[REPLAYING_NODE])}
    if since.keys() - found.keys():  # a broker that has just started may not know it yet
        raise KafkaException(KafkaError(KafkaError._UNKNOWN_PARTITION))
    return found
