"""Groups the rows of Arrow batches into ranges of a partition's offsets.

Where a range begins and ends depends only on where its task started reading the partition and on its rows,
not on how these were split into batches. So a range that is read again after a crash is the same.
"""

from collections.abc import Iterable, Iterator
from typing import Final

import numpy as np
import pyarrow as pa

MOST_ROWS: Final = 100_000
"""A range ends with the record that brings it to so many rows: what a task holds in memory."""


def ranges(batches: Iterable[pa.RecordBatch], most_rows: int = MOST_ROWS) -> Iterator[pa.Table]:
    """The rows of each range, in order.

    Args:
        batches: in which the rows of a partition follow each other by offset.
        most_rows: a range takes no further record once it has so many rows.
    """
    held: list[pa.RecordBatch] = []
    for batch in batches:
        for piece in _by_partition(batch):
            if held and _partition(held[0]) != _partition(piece):
                yield pa.Table.from_batches(held)
                held = []
            held.append(piece)
            if sum(each.num_rows for each in held) > most_rows:
                *full, rest = _cut(pa.Table.from_batches(held), most_rows)
                yield from full
                held = rest.combine_chunks().to_batches()
    if held:
        yield pa.Table.from_batches(held)


def _partition(rows: pa.RecordBatch) -> tuple[str, int]:
    return rows["topic"][0].as_py(), rows["partition"][0].as_py()


def _by_partition(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """The batch, cut where another partition begins."""
    topics = batch["topic"].dictionary_encode().indices.to_numpy()
    partitions = batch["partition"].to_numpy()
    changes = np.flatnonzero((np.diff(topics) != 0) | (np.diff(partitions) != 0)) + 1
    yield from _slices(batch, [int(at) for at in changes])


def _cut(rows: pa.Table, most_rows: int) -> Iterator[pa.Table]:
    """Full ranges, and last what is left, which may go on; never cut within a record."""
    begins = np.flatnonzero(np.diff(rows["offset"].to_numpy())) + 1
    cuts: list[int] = []
    for at in begins[begins >= most_rows]:
        if at - (cuts[-1] if cuts else 0) >= most_rows:
            cuts.append(int(at))
    yield from _slices(rows, cuts)


def _slices(rows: pa.RecordBatch | pa.Table, cuts: list[int]) -> Iterator[pa.RecordBatch | pa.Table]:
    for start, end in zip([0, *cuts], [*cuts, rows.num_rows], strict=True):
        if end > start:
            yield rows.slice(start, end - start)
