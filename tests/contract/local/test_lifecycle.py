"""`hifi up`, `down` and `doctor` as real processes, with the brokers only (the quick part of a side)."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
from confluent_kafka import Consumer, Producer

from scripts.local.lock import holder
from scripts.local.ports import free_base
from scripts.local.process_marks import kill, side_processes
from scripts.local.processes.supervisor import Supervisor
from scripts.local.side import Side
from shared.contracts.topics import Topic
from shared.kafka.background_reader import reader_config
from shared.kafka.producer import producer_config
from tests.contract.local.command import hifi
from tests.harness.command_line import HIFI, Hifi
from tests.harness.lone_broker import QUICK_TO_COMPILE

pytestmark = pytest.mark.timeout(900)

_UP_SECONDS = 300


class Up:
    """Runs `hifi up --parts brokers` on one folder, several times in turn."""

    def __init__(self, side: Side) -> None:
        self.side = side
        self.process: subprocess.Popen[str] | None = None

    def start(self) -> "subprocess.Popen[str]":
        log = (self.side.root.parent / "up.log").open("w")
        arguments = ["up", "--parts", "brokers", "--data", str(self.side.root), "--port", str(self.side.port)]
        self.process = subprocess.Popen(
            [*HIFI, *arguments],
            env={**os.environ, "JDK_JAVA_OPTIONS": QUICK_TO_COMPILE},
            stdout=log,
            stderr=subprocess.STDOUT,
            text=True,
        )
        _until(lambda: "ready" in self.output() or self.process.poll() is not None, _UP_SECONDS, self.output)  # type: ignore[union-attr]
        assert "ready" in self.output(), self.output()
        return self.process

    def output(self) -> str:
        return (self.side.root.parent / "up.log").read_text()


def _until(done: Callable[[], bool], seconds: float, say: Callable[[], str] = str) -> None:
    deadline = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < deadline, say()
        time.sleep(0.1)


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Up]:
    """The folder of the side that the tests of this module start and stop in turn."""
    running = Up(Side(root=tmp_path_factory.mktemp("life") / "data", port=free_base()))
    yield running
    if running.process and running.process.poll() is None:
        running.process.kill()
        running.process.wait()
    kill(side_processes(running.side.root))


def _produce(up: Up, value: bytes) -> None:
    producer = Producer(producer_config(up.side.bootstrap, "test"))
    producer.produce(Topic.LEDGER, value)
    assert producer.flush(60) == 0


def _first_record(up: Up) -> bytes | None:
    consumer = Consumer(reader_config(up.side.bootstrap, "test") | {"enable.partition.eof": False})
    consumer.subscribe([Topic.LEDGER])
    try:
        message = consumer.poll(60)
        return None if message is None else message.value()
    finally:
        consumer.close()


@pytest.mark.proof
def test_sigterm_ends_everything_and_a_restart_has_the_records_still(up: Up) -> None:
    process = up.start()
    _produce(up, b"kept")
    process.send_signal(signal.SIGTERM)
    assert process.wait(120) == 0, up.output()
    assert side_processes(up.side.root) == []
    up.start()
    assert _first_record(up) == b"kept"


@pytest.mark.proof
def test_a_second_up_on_the_folder_is_refused(up: Up) -> None:
    _running(up)
    second = hifi("up", "--data", str(up.side.root))
    assert second.returncode == 1
    assert "already runs" in second.stderr


def test_doctor_finds_a_healthy_side_and_names_a_broker_that_is_down(up: Up) -> None:
    _running(up)
    said, asked = list[str](), Hifi(up.side.root, {})

    def healthy() -> bool:
        done = asked.run("doctor")
        said.append(done.stdout)
        return done.returncode == 0

    _until(healthy, 240, lambda: said[-1])  # a broker that stalled is reported as missing for a while
    Supervisor(up.side).stop_program("broker-2")
    hurt = asked.run("doctor")
    assert hurt.returncode == 1
    assert "broker-2" in hurt.stdout


@pytest.mark.proof  # in `make test` with all brokers of a whole side: tests/integration/test_faults.py
def test_a_killed_broker_is_started_again(up: Up) -> None:
    _running(up)
    supervisor = Supervisor(up.side)
    before = supervisor.pid("broker-3")
    os.kill(before, signal.SIGKILL)
    _until(lambda: supervisor.pid("broker-3") not in (0, before), 240)


@pytest.mark.proof
def test_down_ends_what_a_killed_supervisor_left_behind(up: Up) -> None:
    process = _running(up)
    process.kill()  # neither of them can clean up
    process.wait()
    supervisors = side_processes(up.side.root, "supervisor")
    kill(supervisors)
    assert side_processes(up.side.root), "the brokers survive their supervisor"
    stopped = hifi("down", "--data", str(up.side.root))
    assert stopped.returncode == 0
    assert "left by an earlier `hifi up`" in stopped.stdout
    assert side_processes(up.side.root) == []


@pytest.mark.proof
def test_down_stops_a_running_side_from_another_terminal(up: Up) -> None:
    process = _running(up)
    stopped = hifi("down", "--data", str(up.side.root))
    assert stopped.returncode == 0, stopped.stdout
    assert process.wait(30) == 0
    assert holder(up.side.root) is None
    assert side_processes(up.side.root) == []


def test_a_marked_process_is_found_and_a_neighbour_is_not(tmp_path: Path) -> None:
    sleeper = [sys.executable, "-c", "import time; time.sleep(600)"]
    with (
        subprocess.Popen(sleeper, env={**os.environ, "HIFI_PROCESS_OF": str(tmp_path)}) as ours,
        subprocess.Popen(sleeper, env={**os.environ, "HIFI_PROCESS_OF": str(tmp_path / "x")}) as other,
    ):
        try:
            _until(lambda: [p.pid for p in side_processes(tmp_path)] == [ours.pid], 60)
            assert psutil.pid_exists(other.pid)
        finally:
            ours.kill()
            other.kill()


def _running(up: Up) -> "subprocess.Popen[str]":
    """The process of the running side; starts it, or the brokers that another test stopped, if necessary."""
    if up.process is None or up.process.poll() is not None:
        return up.start()
    supervisor = Supervisor(up.side)
    for program, state in supervisor.states().items():
        if state == "STOPPED":
            supervisor.start_program(program)
    return up.process
