"""The refusals of `hifi scale`, and the executors that it counts."""

import fcntl
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from http.server import BaseHTTPRequestHandler
from io import StringIO
from pathlib import Path

import msgspec
import pytest
from prometheus_client import CollectorRegistry, Gauge, generate_latest
from rich.console import Console

from scripts.local.addresses import HOST
from scripts.local.executor.count import executor_count
from scripts.local.ports import free_base
from scripts.local.processes.spark_programs import WORKERS
from scripts.local.processes.supervisor import SupervisorError
from scripts.local.progress import Progress
from scripts.local.side import Side
from scripts.local.workers import WorkersError, scale
from shared.contracts.diamond.activities import Action
from shared.runtime.metrics import SparkMetric
from shared.runtime.process_id import own_process_id
from tests.harness.http_server import QuietHandler, http_served
from tests.harness.waiting import eventually

_QUIET = Progress(Console(file=StringIO()))


def _registered(action: Action, reason: str) -> AbstractContextManager[None]:
    """Fail: the command must be refused before it registers."""
    raise AssertionError(f"{action} was registered: {reason}")


@contextmanager
def _driver(side: Side, answer: bytes) -> Iterator[None]:
    class Driver(QuietHandler, BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.respond(200, answer)

    with http_served(Driver, HOST, side.spark_port):
        yield


def test_executors_are_those_that_the_driver_counts(tmp_path: Path) -> None:
    side = Side(root=tmp_path, port=free_base(), workers=1)
    registry = CollectorRegistry()
    Gauge(SparkMetric.READY, "1 when ready", registry=registry).set(1)
    Gauge(SparkMetric.EXECUTORS, "Executors that take tasks", registry=registry).set(2)
    with _driver(side, generate_latest(registry)):
        eventually(lambda: executor_count(side.spark_url) == 2)


@pytest.mark.parametrize("answer", [b"", b"<html>", b"hifi_spark_ready 1.0"])
def test_an_answer_that_is_none_is_not_taken_for_no_executor(tmp_path: Path, answer: bytes) -> None:
    side = Side(root=tmp_path, port=free_base(), workers=1)
    assert executor_count(side.spark_url) is None
    with _driver(side, answer):
        assert executor_count(side.spark_url) is None


def test_a_side_whose_driver_runs_all_tasks_names_the_option_that_changes_that(tmp_path: Path) -> None:
    with pytest.raises(WorkersError, match=r"in its driver.*`hifi up --workers 1`"):
        scale(Side(root=tmp_path), 2, _QUIET, _registered)


def test_two_commands_do_not_change_the_workers_at_once(tmp_path: Path) -> None:
    side = Side(root=tmp_path, workers=1)
    side.create()
    with (side.run / "scale.lock").open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(WorkersError, match="another `hifi scale`"):
            scale(side, 2, _QUIET, _registered)


def test_a_note_of_drained_workers_does_not_hide_that_the_side_does_not_answer(tmp_path: Path) -> None:
    side = Side(root=tmp_path, workers=1)
    side.create()
    (side.run / "drained.json").write_bytes(msgspec.json.encode({WORKERS[0]: own_process_id()}))
    with pytest.raises(SupervisorError, match="does not answer"):
        scale(side, 1, _QUIET, _registered)
