"""Assigns to each row of a topic the stage that it is tallied in."""

from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shared.contracts.envelope import MINUTE_MS
from shared.contracts.ledger import Stage
from shared.contracts.stages import KIND_STAGES, NAMED_BY_PIPE, TOPIC_STAGES
from shared.contracts.topics import Topic


def events(topic: str, rows: pa.Table) -> pa.Table:
    """The rows that hold an event, with its `stage`; all of them are of one topic.

    A quarantined record counts in the minute in which it was written if its own is unknown.
    """
    staged = rows.append_column("stage", _stage(topic, rows))
    if topic == Topic.QUARANTINE:
        return _with(staged, "minute", _minutes(rows))
    held = pc.and_(staged["stage"].is_valid(), staged["id_hash"].is_valid())
    if topic in NAMED_BY_PIPE:
        held = pc.and_(held, staged["name"].is_valid())
    return staged if pc.all(held).as_py() else staged.filter(held)


def _stage(topic: str, rows: pa.Table) -> pa.Array:
    """The stage of each row, as its number in the list of stages; null for none."""
    if topic in TOPIC_STAGES:
        return pa.repeat(pa.scalar(_NUMBERS[TOPIC_STAGES[topic]], pa.int8()), rows.num_rows)
    stages = KIND_STAGES[topic]
    kinds = rows["kind"].combine_chunks().dictionary_encode()
    numbers = [_NUMBERS[stages[each]] if each in stages else None for each in kinds.dictionary.to_pylist()]
    return pa.array(numbers, pa.int8()).take(kinds.indices)


STAGES: Final = tuple(Stage)
_NUMBERS: Final = {stage: number for number, stage in enumerate(STAGES)}


def _minutes(rows: pa.Table) -> pa.Array:
    written = rows["timestamp_ms"].to_numpy() // MINUTE_MS
    known = rows["id_hash"].is_valid().to_numpy()
    return pa.array(np.where(known, rows["minute"].fill_null(0).to_numpy(), written))


def _with(rows: pa.Table, name: str, column: pa.Array) -> pa.Table:
    return rows.set_column(rows.schema.get_field_index(name), name, column)
