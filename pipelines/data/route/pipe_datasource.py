"""The pipes as a Spark table that is read again at every batch of a running query.

Spark plans a streaming query once, so rows in the plan would never change. `read` runs in a Python worker at
each batch and yields from the table of documents that the worker process keeps. Workers are reused, so each
loads the topic once. Each batch may be read by another worker, one of which may be behind: so it first reads
what the topic holds now.
"""

import time
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Final

from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from pipelines.data.route.config_rows import Row
from pipelines.data.route.kept_rows import KeptRows
from pipelines.data.route.schema import SOURCE_ROW
from shared.contracts.documents import Catalogue, Pipe
from shared.contracts.topics import Topic
from shared.kafka.config_topic import config_table
from shared.kafka.global_table import GlobalTable
from shared.kafka.heartbeat_writer import HeartbeatWriter
from shared.kafka.topic_end import TopicEnd
from shared.runtime.clock import wall_clock
from shared.runtime.gc_tuning import spare_collector_once
from shared.runtime.logging import get_logger

_log = get_logger(__name__)
_VALID_SECONDS: Final = 30.0
"""Some batches: each reads the pipes once."""

_CURRENT_SECONDS: Final = 2.0
"""Longest wait of a batch for the newest documents; after it the batch begins with those that are there."""


@cache
def _table(bootstrap: str, client_id: str) -> GlobalTable[Catalogue]:
    """The worker process's table. Spark gives a reader no other place to keep it between batches."""
    return config_table(bootstrap, client_id)


@cache
def _end(bootstrap: str, client_id: str) -> TopicEnd:
    return TopicEnd(bootstrap, client_id, Topic.CONFIG)


@cache
def _beats(bootstrap: str) -> HeartbeatWriter:
    """Any worker may read for the query, which is what is alive: all of them speak for it."""
    return HeartbeatWriter(
        bootstrap,
        node="route",
        instance="query",
        clock=wall_clock,
        monotonic=time.monotonic,
        valid_seconds=_VALID_SECONDS,
    )


@cache
def _rows() -> KeptRows:
    return KeptRows(_log_refused)


class PipesDataSource(DataSource):
    """`spark.read.format("hifi_pipes").option("bootstrap", ...)`: rows of `schema.SOURCE_ROW`."""

    @classmethod
    def name(cls) -> str:
        """The format's name."""
        return "hifi_pipes"

    def schema(self) -> str:
        """Columns of the table, as DDL."""
        return SOURCE_ROW

    def reader(self, schema: StructType) -> DataSourceReader:  # noqa: ARG002  # always SOURCE_ROW
        """A reader of the whole table."""
        return _Reader(self.options["bootstrap"], self.options["client_id"], self.options.get("beats"))


class _Reader(DataSourceReader):
    def __init__(self, bootstrap: str, client_id: str, beats: str | None) -> None:
        self._bootstrap = bootstrap
        self._client_id = client_id
        self._beats = beats != "false"

    def partitions(self) -> list[InputPartition]:
        return [InputPartition(0)]

    def read(self, partition: InputPartition) -> Iterator[Row]:  # noqa: ARG002  # there is only one
        """All rows; waits without a timeout until the topic was read to its end."""
        table = _table(self._bootstrap, self._client_id)
        table.wait()
        # Otherwise a pipe that another worker had in force could miss the next batch's events.
        _end(self._bootstrap, self._client_id).reached_by(table, _CURRENT_SECONDS)
        if self._beats:  # a rehearsal does not speak for the query at work
            _beats(self._bootstrap).beat(table.position)  # of a view that is no newer than the one used
        return _all(_rows().of(table.view.pipes.values(), wall_clock()))


def _all(rows: Iterable[Row]) -> Iterator[Row]:
    yield from rows
    spare_collector_once()


def _log_refused(pipe: Pipe, why: str) -> None:
    _log.error("pipe left out", extra={"tenant": pipe.tenant, "pipe": pipe.name, "why": why})
