"""`hifi doctor` finds a driver that hangs, and does not mistake an idle one for it."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry, Gauge, generate_latest

from scripts.local.addresses import HOST
from scripts.local.doctor.query_progress import progress_check, query_progress
from scripts.local.ports import free_base
from scripts.local.processes.spark_programs import SPARK, STANDBY
from scripts.local.side import Side
from shared.kafka.consumer_lag import Lag
from shared.runtime.metrics import SparkMetric
from tests.harness.http_server import QuietHandler, http_served

_PID = 4711
_SIDE = Side(root=Path("/data"))
_BUSY = {"ingest": 14.0, "route": 2.0, "transmit": 0.5, "audit": 9.0}


@pytest.mark.parametrize(
    ("ages", "unread", "found"),
    [
        (None, {}, "does not answer"),
        (dict.fromkeys(_BUSY, 61.0), {}, "none has ended for 61 s"),
        (
            _BUSY | {"transmit": 61.0},
            {"transmit": 1},
            "records wait, and no batch has ended of transmit for 61 s",
        ),
        (
            _BUSY | {"ingest": 75.0, "route": 90.0},
            {"ingest": 5, "route": 5},
            "ingest for 75 s, route for 90 s",
        ),
    ],
)
def test_a_driver_that_hangs_fails_and_its_process_is_named(
    ages: dict[str, float] | None, unread: dict[str, int], found: str
) -> None:
    check = progress_check(_SIDE, SPARK, _PID, ages, unread)
    assert not check.ok
    assert found in check.found
    assert f"tail /data/logs/spark.log; if the driver hangs, kill -9 {_PID}" in (check.fix or "")


@pytest.mark.parametrize(
    ("ages", "unread"),
    [
        ({}, {"ingest": 100_000}),  # its first batch reads the events from before the start
        (_BUSY, {"ingest": 100_000, "route": 3}),
        (_BUSY | {"transmit": 7_200.0, "transmit_slow": 7_200.0}, {"transmit": 0, "ingest": 9}),
    ],
    ids=["no batch yet", "busy", "a query without records"],
)
def test_a_healthy_driver_passes(ages: dict[str, float], unread: dict[str, int]) -> None:
    assert progress_check(_SIDE, SPARK, _PID, ages, unread).ok


def _metrics(transmit_slow: float) -> bytes:
    registry = CollectorRegistry()
    Gauge(SparkMetric.READY, "1 when ready", registry=registry).set(1)
    age = Gauge(SparkMetric.PROGRESS_AGE, "Since the last batch", ["query"], registry=registry)
    for query, seconds in (_BUSY | {"transmit_slow": transmit_slow}).items():
        age.labels(query).set(seconds)
    return generate_latest(registry)


@contextmanager
def _driver(port: int, answers: Sequence[bytes]) -> Iterator[None]:
    """Gives these answers in turn, and repeats the last one."""
    left = list(answers)

    class Driver(QuietHandler, BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.respond(200, left.pop(0) if len(left) > 1 else left[0])

    with http_served(Driver, HOST, port):
        yield


_UNREAD = [Lag(node="transmit_slow", records=1), Lag(node="retry", records=None)]


@pytest.mark.parametrize("driver", [SPARK, STANDBY])
def test_a_query_that_was_idle_for_long_may_take_a_moment_for_its_first_record(
    tmp_path: Path, driver: str
) -> None:
    side = Side(root=tmp_path, port=free_base(), standby=True)
    port = side.standby_port if driver == STANDBY else side.spark_port
    with _driver(port, [_metrics(7_200), _metrics(7_201), _metrics(0.5)]):
        assert query_progress(side, driver, _PID, _UNREAD, pause=0.01).ok


def test_a_query_that_stays_where_it_is_fails(tmp_path: Path) -> None:
    side = Side(root=tmp_path, port=free_base())
    with _driver(side.spark_port, [_metrics(7_200)]):
        check = query_progress(side, SPARK, _PID, _UNREAD, seconds=0.1, pause=0.01)
    assert "transmit_slow for 7,200 s" in check.found


@pytest.mark.parametrize("answer", [b"", b"<html>", b"hifi_spark_executors 1.0\n"])
def test_what_is_no_answer_of_a_driver_fails(tmp_path: Path, answer: bytes) -> None:
    side = Side(root=tmp_path, port=free_base())
    assert "does not answer" in query_progress(side, SPARK, _PID, (), seconds=0).found
    with _driver(side.spark_port, [answer]):
        assert "does not answer" in query_progress(side, SPARK, _PID, (), seconds=0).found
