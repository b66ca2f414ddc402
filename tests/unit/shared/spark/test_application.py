"""In which order a driver without a standby starts and stops its queries."""

import threading
from typing import Any

from confluent_kafka import KafkaError, KafkaException

from shared.runtime.settings import SparkSettings
from shared.spark.application import Alone, Build
from shared.spark.later_queries import CALM_SECONDS, LaterQueries

_SPARK: Any = None
"""The builds of these tests do not use it."""


class _Query:
    """The query that a build returns; notes when it is stopped."""

    def __init__(self, name: str, log: list[str]) -> None:
        self._name, self._log = name, log

    def stop(self) -> None:
        self._log.append(f"{self._name} stopped")


def _build(name: str, log: list[str]) -> Build:
    def build(_spark: Any, _settings: SparkSettings) -> Any:
        log.append(name)
        return _Query(name, log)

    return build


def _alone(log: list[str], now: list[float]) -> Alone:
    settings = SparkSettings.model_construct()
    builds = [_build("route", log), _build("ingest", log)]
    return Alone(builds, settings, later=[_build("audit", log)], monotonic=lambda: now[0])


def test_queries_that_no_event_waits_for_start_once_and_later() -> None:
    log, now = list[str](), [100.0]
    alone = _alone(log, now)
    assert len(alone.start(_SPARK, threading.Event())) == 2
    assert not alone.start_more(_SPARK)
    now[0] += CALM_SECONDS
    assert len(alone.start_more(_SPARK)) == 1
    assert not alone.start_more(_SPARK)
    assert log == ["route", "ingest", "audit"]


def test_a_driver_that_is_to_stop_before_its_brokers_are_back_starts_nothing() -> None:
    log, stopping = list[str](), threading.Event()
    stopping.set()
    assert not _alone(log, [100.0]).start(_SPARK, stopping)
    assert log == []


def test_queries_stop_in_reverse_order() -> None:
    log, now = list[str](), [100.0]
    alone = _alone(log, now)
    queries = list(alone.start(_SPARK, threading.Event()))
    now[0] += CALM_SECONDS
    queries.extend(alone.start_more(_SPARK))
    del log[:]
    alone.stop(queries)
    assert log == ["audit stopped", "ingest stopped", "route stopped"]


def test_a_later_query_whose_brokers_do_not_answer_is_tried_again_and_ends_nothing() -> None:
    now, tries = [100.0], list[float]()

    def start(_spark: Any) -> Any:
        tries.append(now[0])
        if len(tries) == 1:
            raise KafkaException(KafkaError(KafkaError._TIMED_OUT))
        return _Query("audit", [])

    later = LaterQueries([start], lambda: now[0])
    later.wait(0)
    assert not later.start(_SPARK)
    assert not later.start(_SPARK), "not before it is due again"
    now[0] += CALM_SECONDS
    assert len(later.start(_SPARK)) == 1
    assert tries == [100.0, 100.0 + CALM_SECONDS]
