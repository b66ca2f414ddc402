"""The order in which a driver without a standby starts and stops its queries."""

import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final
from unittest.mock import Mock

import pytest
from confluent_kafka import KafkaError, KafkaException

from shared.runtime.settings import SparkSettings
from shared.spark.application import Alone, Build, watch
from shared.spark.later_queries import CALM_SECONDS, LaterQueries
from shared.spark.missing_executors import MISSING_LOOKS

_SPARK: Any = None
"""The builds of these tests do not use it."""


class _Java:
    """A JVM query that has written all of its progress."""

    def streamingQuery(self) -> "_Java":  # noqa: N802  # Spark's names
        return self

    def getClass(self) -> "_Java":  # noqa: N802
        return self

    def getSimpleName(self) -> str:  # noqa: N802
        return "MicroBatchExecution"


class _Query:
    """The query that a build returns; records its stop."""

    status: Final = {"message": "Processing new data"}
    _jsq: Final = _Java()

    def __init__(self, name: str, log: list[str], *, active: bool = True) -> None:
        self.name, self._log, self.isActive = name, log, active

    def stop(self) -> None:
        self._log.append(f"{self.name} stopped")

    def exception(self) -> str:
        return "a record cannot be read"


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


def test_a_query_whose_progress_cannot_be_written_keeps_no_other_at_work(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = list[str]()
    alone = _alone(log, [100.0])
    queries = alone.start(_SPARK, threading.Event())
    monkeypatch.setattr(_Java, "getClass", Mock(side_effect=OSError("no space left")))
    del log[:]
    alone.stop(queries)
    assert log == ["ingest stopped", "route stopped"]
    assert [each.message.partition(":")[0] for each in caplog.records] == ["progress not written"] * 2


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


class _Turns(threading.Event):
    """Stops after a number of looks, each as long as a later query waits."""

    def __init__(self, looks: int, now: list[float]) -> None:
        super().__init__()
        self._left, self._now = looks, now

    def wait(self, timeout: float | None = None) -> bool:
        self._left -= 1
        self._now[0] += CALM_SECONDS
        return self._left < 0


def _watched(
    first: Sequence[Any], later: LaterQueries, looks: int, now: list[float]
) -> tuple[int, list[Any]]:
    """Exit status after a number of looks, and the queries at the end."""
    later.wait(0)
    queries = list(first)
    turns = _Turns(looks, now)
    status = watch(queries, lambda: later.start(_SPARK), turns, threading.Event(), None, able=lambda: True)
    return status, queries


def test_a_later_query_that_ends_is_started_again_and_ends_no_other() -> None:
    now, built = [100.0], list[Any]()

    def start(_spark: Any) -> Any:
        built.append(_Query("audit", [], active=len(built) == 2))
        return built[-1]

    route = _Query("route", [])
    status, queries = _watched([route], LaterQueries([start], lambda: now[0]), 8, now)
    assert (status, len(built)) == (0, 3), "it failed twice"
    assert queries == [route, built[-1]], "one of the name is looked at"


def test_a_later_query_that_has_ended_is_looked_at_until_another_takes_its_place() -> None:
    now, built = [100.0], list[Any]()

    def start(_spark: Any) -> Any:
        if built:
            raise ValueError("not again")
        built.append(_Query("audit", [], active=False))
        return built[-1]

    route = _Query("route", [])
    status, queries = _watched([route], LaterQueries([start], lambda: now[0]), 8, now)
    assert (status, queries) == (0, [route, *built])


@pytest.mark.parametrize("failure", [ValueError("no value"), KeyError("unmatched")])
def test_a_later_query_that_fails_to_start_is_tried_again_and_delays_no_other(failure: Exception) -> None:
    now, tries = [100.0], list[float]()

    def fail(_spark: Any) -> Any:
        tries.append(now[0])
        raise failure

    def start(_spark: Any) -> Any:
        return _Query("other", [])

    later = LaterQueries([fail, start], lambda: now[0])
    later.wait(0)
    assert [each.name for each in later.start(_SPARK)] == ["other"]
    assert not later.start(_SPARK)
    now[0] += CALM_SECONDS
    assert not later.start(_SPARK)
    assert tries == [100.0, 100.0 + CALM_SECONDS]


def test_a_query_that_events_wait_for_ends_the_process_when_it_ends(tmp_path: Path) -> None:
    """So does audit as an application of its own."""
    route, ready = _Query("route", []), threading.Event()
    ready_file = tmp_path / "ready"

    def end_at_once() -> Sequence[Any]:
        route.isActive = False
        return []

    queries: list[Any] = [route]
    assert watch(queries, end_at_once, _Turns(8, [0.0]), ready, ready_file, able=lambda: True) == 1
    assert (ready_file.exists(), ready.is_set()) == (True, False)


def test_a_driver_is_ready_once_something_takes_its_tasks() -> None:
    """Without an executor a batch begins but does not end. An executor that is lost later is replaced."""
    ready, able, seen = threading.Event(), [False, False, True, False, False], list[bool]()

    class Turns(_Turns):
        def wait(self, timeout: float | None = None) -> bool:
            seen.append(ready.is_set())
            return super().wait(timeout)

    queries: list[Any] = [_Query("route", [])]
    assert watch(queries, list, Turns(5, [0.0]), ready, None, able=lambda: able.pop(0)) == 0
    assert seen == [False, False, False, True, True, True]


def _watched_without(able: Callable[[int], bool], looks: int, now: list[float]) -> tuple[int, int, bool]:
    """Exit status, the number of looks, and whether the driver was ready then.

    Args:
        able: whether something takes tasks, by the number of the look.
        looks: after which the driver is asked to stop.
        now: the clock, which each look moves.
    """
    ready, counted = threading.Event(), [0]

    def takes_tasks() -> bool:
        counted[0] += 1
        return able(counted[0])

    queries: list[Any] = [_Query("route", [])]
    status = watch(queries, list, _Turns(looks, now), ready, None, able=takes_tasks, monotonic=lambda: now[0])
    return status, counted[0], ready.is_set()


def test_a_driver_that_gets_no_executor_ends_so_that_the_next_one_registers_anew(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The master may not list it any more, without saying so."""
    found = _watched_without(lambda _: False, 10 * MISSING_LOOKS, [100.0])
    assert found == (1, MISSING_LOOKS, False)
    assert "no executor has taken tasks for a quarter of an hour" in caplog.text


def test_a_driver_that_has_lost_its_executors_for_too_long_ends() -> None:
    at_work = 2 * MISSING_LOOKS
    found = _watched_without(lambda look: look <= at_work, 10 * MISSING_LOOKS, [100.0])
    assert found == (1, at_work + MISSING_LOOKS, False)


def test_an_executor_that_comes_at_the_last_moment_is_in_time() -> None:
    looks = 3 * MISSING_LOOKS
    found = _watched_without(lambda look: look % MISSING_LOOKS == 0, looks, [100.0])
    assert found == (0, looks, True)


def test_a_machine_that_stands_still_for_long_ends_no_driver() -> None:
    """Laptops are suspended: executors that register right after that are in time."""
    now = [100.0]

    def able(look: int) -> bool:
        now[0] += MISSING_LOOKS * CALM_SECONDS
        return look > 3

    assert _watched_without(able, 10, now) == (0, 10, True)
