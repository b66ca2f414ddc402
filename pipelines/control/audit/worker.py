"""The function that Spark's Python workers run."""

import itertools
from collections.abc import Iterable, Iterator

import pyarrow as pa

from pipelines.control.audit.aggregation import tally
from shared.runtime.gc_tuning import spare_collector_once


def audit(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Batches in `schema.ROWS` to batches in `schema.OUTPUT`: the function for `mapInArrow`."""
    coming = iter(batches)
    for first in coming:  # a task without rows does not import all that one with rows does
        yield from tally(itertools.chain((first,), coming))
        spare_collector_once()
