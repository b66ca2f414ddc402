"""A `hifi scale` that is ended leaves no worker behind that runs and takes no tasks."""

import io
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import psutil
import pytest
from prometheus_client import CollectorRegistry, Gauge, generate_latest
from rich.console import Console

from scripts.local.addresses import HOST
from scripts.local.ports import free_base
from scripts.local.processes.spark_programs import WORKERS
from scripts.local.processes.supervisor import Supervisor
from scripts.local.progress import Progress
from scripts.local.side import Side
from scripts.local.workers import running_workers, scale
from shared.runtime.metrics import SparkMetric
from tests.contract.local.own_program import own_program
from tests.harness.command_line import HIFI
from tests.harness.http_server import QuietHandler, http_served
from tests.harness.waiting import eventually

_QUIET = Progress(Console(file=io.StringIO()))

WORKER = """
import pathlib, signal, subprocess, sys, time

def end(*_):
    executor.kill()
    sys.exit()

signal.signal(signal.SIGTERM, end)
signal.signal(signal.SIGPWR, lambda *_: pathlib.Path(sys.argv[1]).touch())
wait = [sys.executable, "-c", "import time; time.sleep(600)", "CoarseGrainedExecutorBackend"]
executor = subprocess.Popen(wait)
pathlib.Path(sys.argv[2]).touch()
time.sleep(600)
"""
"""As Spark's: one process beside its executor; the tasks do not end."""


@pytest.fixture(scope="module")
def side(tmp_path_factory: pytest.TempPathFactory) -> Side:
    found = Side(root=tmp_path_factory.mktemp("workers") / "side", port=free_base(), workers=4)
    found.create()
    return found


@pytest.fixture(scope="module")
def supervisor(side: Side) -> Iterator[Supervisor]:
    """Four workers run, of which each test takes the last one that is left."""
    running = Supervisor(side)
    names = WORKERS[: side.workers]
    running.start([own_program(side, name, _worker(side, name)) for name in names])
    for name in names:
        running.start_program(name)
    eventually(
        lambda: all(_started(side, name).exists() for name in names), 60, "each worker has an executor"
    )
    yield running
    running.shut_down()


def _worker(side: Side, name: str) -> list[str]:
    return [sys.executable, "-c", WORKER, str(_drained(side, name)), str(_started(side, name))]


def _started(side: Side, name: str) -> Path:
    """Exists once the worker runs and can be asked to take no more tasks: before, the signal ends it."""
    return side.root / f"{name}.started"


def _drained(side: Side, name: str) -> Path:
    """Exists once the worker was asked to take no more tasks."""
    return side.root / f"{name}.drained"


def _drain_last(side: Side, supervisor: Supervisor) -> tuple[str, "subprocess.Popen[str]"]:
    """A `hifi scale` that waits for the tasks of the last worker."""
    running = running_workers(supervisor)
    command = [*HIFI, "scale", "--workers", str(len(running) - 1), "--data", str(side.root)]
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL),  # noqa: PLW1509 it takes no lock
    )
    drained = _drained(side, running[-1])
    try:
        eventually(lambda: drained.exists() or process.poll() is not None, 120, "the worker is drained")
        assert drained.exists(), process.stdout and process.stdout.read()
    except AssertionError:
        process.kill()
        raise
    return running[-1], process


@pytest.mark.parametrize("by", [signal.SIGTERM, signal.SIGHUP])
def test_a_worker_that_is_being_drained_is_stopped_when_the_command_is_asked_to_end(
    side: Side, supervisor: Supervisor, by: signal.Signals
) -> None:
    worker, command = _drain_last(side, supervisor)
    command.send_signal(by)
    said, _ = command.communicate(timeout=60)
    assert command.returncode == 130, said
    assert "`hifi scale` again" in said
    assert worker not in running_workers(supervisor)


def test_a_worker_that_a_killed_command_drained_is_started_afresh_by_the_next_one(
    side: Side, supervisor: Supervisor
) -> None:
    worker, command = _drain_last(side, supervisor)
    command.kill()
    command.wait()
    before = _pids(supervisor)
    _end_its_tasks(before[worker])
    with _driver(side, executors=len(before)):
        scale(side, len(before), _QUIET)
    after = _pids(supervisor)
    assert after.keys() == before.keys()
    changed = [name for name, pid in after.items() if pid != before[name]]
    assert changed == [worker], "the drained one is another process, no other one was stopped"


def _pids(supervisor: Supervisor) -> dict[str, int]:
    return {name: supervisor.pid(name) for name in running_workers(supervisor)}


def _end_its_tasks(worker: int) -> None:
    for executor in psutil.Process(worker).children():
        executor.kill()


@contextmanager
def _driver(side: Side, executors: int) -> Iterator[None]:
    """Serve the metrics of a driver with so many executors."""
    registry = CollectorRegistry()
    Gauge(SparkMetric.EXECUTORS, "Executors that take tasks", registry=registry).set(executors)

    class Driver(QuietHandler, BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.respond(200, generate_latest(registry))

    with http_served(Driver, HOST, side.spark_port):
        yield
