"""`hifi scale` is visible to other actors, waits for them, and leaves no running worker without tasks."""

import io
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import psutil
import pytest
from prometheus_client import CollectorRegistry, Gauge, generate_latest
from rich.console import Console

from scripts.deployer.activities import opened_register
from scripts.deployer.scaling import scaling
from scripts.deployer.side_address import local_address
from scripts.local.addresses import HOST
from scripts.local.ports import free_base
from scripts.local.processes.spark_programs import WORKERS
from scripts.local.processes.supervisor import Supervisor
from scripts.local.progress import Progress
from scripts.local.side import Shared, Side
from scripts.local.workers import running_workers, scale
from shared.contracts.diamond.activities import Action, Activity
from shared.contracts.diamond.stability import SILENT
from shared.contracts.document_items import DOCUMENTS_TABLE
from shared.dynamodb.activity_register import ActivityRegister, Waits
from shared.dynamodb.document_table import DocumentTable
from shared.runtime.errors import OperatorError
from shared.runtime.metrics import SparkMetric
from tests.contract.local.own_program import own_program
from tests.harness.command_line import HIFI, Hifi
from tests.harness.http_server import QuietHandler, http_served
from tests.harness.scripted_observe import ScriptedObserve, scripted_observe
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
"""Behaves like Spark's worker: one process beside its executor; the tasks do not end."""


@pytest.fixture(scope="module")
def side(tmp_path_factory: pytest.TempPathFactory, dynamodb_local: str) -> Side:
    root = tmp_path_factory.mktemp("workers")
    store = Shared(folder=root, store_url=dynamodb_local)
    found = Side(root=root / "side", port=free_base(), workers=4, name="with-workers", shared=store)
    found.create()
    DocumentTable(DOCUMENTS_TABLE, dynamodb_local).ensure()
    return found


@pytest.fixture(autouse=True)
def observe(side: Side) -> Iterator[ScriptedObserve]:
    """Observe reports a stable side unless a test says otherwise."""
    with scripted_observe(side.observe_port) as found:
        yield found


@pytest.fixture
def register(side: Side) -> ActivityRegister:
    """The side's register, as another actor sees it."""
    return opened_register(local_address(side), "another")


@pytest.fixture(scope="module")
def supervisor(side: Side) -> Iterator[Supervisor]:
    """Four workers run; each test takes the last remaining one."""
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
    """Exists once the worker can be drained; before that the signal would end it."""
    return side.root / f"{name}.started"


def _drained(side: Side, name: str) -> Path:
    """Exists once the worker was asked to drain."""
    return side.root / f"{name}.drained"


def _drain_last(side: Side, supervisor: Supervisor) -> tuple[str, "subprocess.Popen[str]"]:
    """A `hifi scale` that waits for the last worker's tasks."""
    running = running_workers(supervisor)
    process = subprocess.Popen(
        [*HIFI, *_scale_command(side, len(running) - 1)],
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


def _scale_command(side: Side, workers: int) -> list[str]:
    return ["scale", "--workers", str(workers), "--data", str(side.root)]


@pytest.mark.parametrize("by", [signal.SIGTERM, pytest.param(signal.SIGHUP, marks=pytest.mark.proof)])
def test_a_worker_that_is_being_drained_is_stopped_when_the_command_is_asked_to_end(
    side: Side, supervisor: Supervisor, register: ActivityRegister, by: signal.Signals
) -> None:
    workers = len(running_workers(supervisor))
    worker, command = _drain_last(side, supervisor)
    assert _under_way(register) == [(Action.SCALE_IN, f"Spark workers: {workers} to {workers - 1}")]
    command.send_signal(by)
    said, _ = command.communicate(timeout=60)
    assert command.returncode == 130, said
    assert "`hifi scale` again" in said
    assert worker not in running_workers(supervisor)
    assert _under_way(register) == []


def _under_way(register: ActivityRegister) -> list[tuple[Action, str]]:
    return [(each.action, each.reason) for each in register.look().activities]


def test_no_worker_is_drained_while_the_side_is_not_stable(
    side: Side, supervisor: Supervisor, observe: ScriptedObserve
) -> None:
    observe.reasons = ["alarm burn of acme"]
    before = _pids(supervisor)
    done = _refused(side, len(before) - 1)
    assert "not begun: the side is not stable: alarm burn of acme" in done
    assert "--force" in done
    assert _pids(supervisor) == before


def test_no_worker_is_drained_during_maintenance_which_waits_for_one_that_is(
    side: Side, supervisor: Supervisor, register: ActivityRegister
) -> None:
    before = _pids(supervisor)
    patch = register.begin(Action.MAINTAIN, "a patch of the brokers", SILENT)
    assert isinstance(patch, Activity)
    assert "a patch of the brokers" in _refused(side, len(before) - 1)
    assert _pids(supervisor) == before
    assert register.look().wishes == [], "it waits no more"
    register.end(patch)
    with scaling(side, Action.SCALE_IN, "Spark workers: 2 to 1", forced=False):
        found = register.begin(Action.MAINTAIN, "a patch of the brokers", SILENT)
    register.withdraw(Action.MAINTAIN)
    assert isinstance(found, Waits)
    assert "scale in (Spark workers: 2 to 1)" in found.reasons[0]


def _refused(side: Side, workers: int) -> str:
    done = Hifi(None, {}).run(*_scale_command(side, workers))
    assert done.returncode == 1, done.stdout
    return " ".join(done.stderr.split())


def test_a_drain_that_is_forced_waits_for_nothing(
    side: Side, register: ActivityRegister, observe: ScriptedObserve
) -> None:
    observe.silent = True
    with scaling(side, Action.SCALE_IN, "a worker that fails", forced=True):
        assert _under_way(register) == [(Action.SCALE_IN, "a worker that fails")]


def test_workers_are_added_where_the_register_does_not_answer_and_none_is_drained(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    side, acted = Side(root=tmp_path, port=free_base(), workers=1), []
    with scaling(side, Action.SCALE_OUT, "Spark workers: 1 to 2", forced=False):
        acted.append(Action.SCALE_OUT)
    assert acted
    assert "others cannot see it" in capsys.readouterr().err
    with ExitStack() as block, pytest.raises(OperatorError, match="not begun"):
        block.enter_context(scaling(side, Action.SCALE_IN, "Spark workers: 2 to 1", forced=False))


def test_a_worker_that_a_killed_command_drained_is_started_afresh_by_the_next_one(
    side: Side, supervisor: Supervisor
) -> None:
    worker, command = _drain_last(side, supervisor)
    command.kill()
    command.wait()
    before = _pids(supervisor)
    _end_its_tasks(before[worker])
    with _driver(side, executors=len(before)):
        scale(side, len(before), _QUIET, partial(scaling, side, forced=False))
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
