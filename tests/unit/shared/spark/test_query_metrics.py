"""Metrics of a Spark application's queries, derived from Spark's progress reports."""

import json
import threading
from collections.abc import Mapping, Sequence
from typing import Any
from unittest.mock import MagicMock

import pytest
from confluent_kafka import TopicPartition

from shared.runtime.metrics import SparkMetric
from shared.spark.query_metrics import QueryMetrics, advanced, lags
from tests.harness.waiting import eventually

BEGAN_MS = 1_700_000_000_000
BEGAN = "2023-11-14T22:13:20.000Z"


def progress(offsets: Mapping[str, Mapping[str, int]], *, as_text: bool = False) -> dict[str, Any]:
    """A StreamingQueryProgress of a batch that took 1.5 s; Spark gives offsets as text or as a mapping."""
    end = json.dumps(offsets) if as_text else offsets
    return {"timestamp": BEGAN, "batchDuration": 1500, "numInputRows": 3, "sources": [{"endOffset": end}]}


def at(topic: str, *offsets: int) -> list[TopicPartition]:
    return [TopicPartition(topic, partition, offset) for partition, offset in enumerate(offsets)]


def value(meters: QueryMetrics, name: str, **labels: str) -> float | None:
    return meters.registry.get_sample_value(name, labels)


def take(
    meters: QueryMetrics, ends: Sequence[TopicPartition], to: Mapping[str, int], *, as_text: bool = False
) -> None:
    meters.take("route", progress({"events": to}, as_text=as_text), ends)


@pytest.mark.parametrize("as_text", [True, False])
def test_records_read_are_those_between_two_reports(as_text: bool) -> None:
    meters = QueryMetrics("test", lambda: BEGAN_MS)
    take(meters, at("events", 10, 10), {"0": 4, "1": 6}, as_text=as_text)
    take(meters, at("events", 10, 10), {"0": 9, "1": 6}, as_text=as_text)
    take(meters, at("events", 10, 10), {"0": 9, "1": 6}, as_text=as_text)
    assert value(meters, f"{SparkMetric.RECORDS_READ}_total", query="route") == 3 + 5
    assert value(meters, SparkMetric.LAG, query="route", topic="events") == 5


def test_age_counts_from_the_end_of_the_last_batch_and_goes_on_without_looks() -> None:
    now = [BEGAN_MS + 2_500]
    meters = QueryMetrics("test", lambda: now[0])
    take(meters, [], {"0": 4})
    assert value(meters, SparkMetric.PROGRESS_AGE, query="route") == 1
    assert value(meters, SparkMetric.BATCH_SECONDS, query="route") == 1.5
    now[0] += 60_000
    assert value(meters, SparkMetric.PROGRESS_AGE, query="route") == 61


def test_a_query_whose_first_batch_does_not_end_shows_its_age_and_what_waits() -> None:
    now = [BEGAN_MS]
    meters = QueryMetrics("test", lambda: now[0])
    meters.await_first("route", at("events", 4), at("events", 10))
    now[0] += 400_000
    meters.await_first("route", at("events", 4), at("events", 12))
    assert value(meters, SparkMetric.PROGRESS_AGE, query="route") == 400
    assert value(meters, SparkMetric.LAG, query="route", topic="events") == 8
    assert value(meters, f"{SparkMetric.RECORDS_READ}_total", query="route") is None
    now[0] = BEGAN_MS + 2_500
    take(meters, [], {"0": 4})
    assert value(meters, SparkMetric.PROGRESS_AGE, query="route") == 1


def test_a_query_that_starts_again_keeps_the_age_of_its_last_batch_until_it_ends_one() -> None:
    """The age is neither that of its first start nor a new one: a query that keeps failing stands still."""
    now = [BEGAN_MS - 86_400_000]
    meters = QueryMetrics("test", lambda: now[0])
    meters.await_first("route", [], [])
    now[0] = BEGAN_MS + 2_500
    take(meters, [], {"0": 4})
    for _ in range(2):
        now[0] += 30_000
        meters.await_first("route", [], [])
    assert value(meters, SparkMetric.PROGRESS_AGE, query="route") == 61


def test_unknown_ends_keep_the_last_lag() -> None:
    meters = QueryMetrics("test", lambda: BEGAN_MS)
    take(meters, at("events", 10), {"0": 4})
    take(meters, [], {"0": 5})
    assert value(meters, SparkMetric.LAG, query="route", topic="events") == 6


def test_a_recreated_topic_is_neither_progress_nor_a_step_back() -> None:
    assert advanced({("t", 0): 100, ("t", 1): 5}, {("t", 0): 3, ("t", 1): 9, ("t", 2): 50}) == 4


def test_lags_are_summed_by_topic_and_never_negative() -> None:
    offsets = {("a", 0): 5, ("a", 1): 5, ("b", 0): 7, ("c", 0): 1}
    ends = {("a", 0): 8, ("a", 1): 6, ("b", 0): 6, ("d", 0): 9}
    assert lags(offsets, ends) == {"a": 4, "b": 0}


def session(infos: Sequence[str], *, local: bool) -> MagicMock:
    """A session that runs tasks in these places."""
    spark = MagicMock()
    java = spark.sparkContext._jsc
    java.isLocal.return_value = local
    java.sc().statusTracker().getExecutorInfos.return_value = infos
    return spark


def test_executors_are_counted_without_the_driver_until_it_stops() -> None:
    meters, stopping = QueryMetrics("test"), threading.Event()
    meters.count_executors(session(["driver", "one", "two"], local=False), stopping, seconds=0.01)
    eventually(lambda: value(meters, SparkMetric.EXECUTORS) == 2, 60)
    stopping.set()


def test_a_driver_that_runs_all_tasks_itself_is_not_asked_for_executors() -> None:
    meters, spark = QueryMetrics("test"), session(["driver", "one"], local=True)
    before = set(threading.enumerate())
    meters.count_executors(spark, threading.Event())
    assert set(threading.enumerate()) <= before
    assert value(meters, SparkMetric.EXECUTORS) == 0
