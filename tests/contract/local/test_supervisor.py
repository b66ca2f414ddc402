"""A real supervisord runs and stops programs of a side."""

import json
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from scripts.local.doctor.health import health
from scripts.local.process_marks import side_processes
from scripts.local.processes.programs import CONSOLE, OBSERVE
from scripts.local.processes.supervisor import Supervisor, SupervisorError
from scripts.local.side import Side
from tests.contract.local.own_program import own_program
from tests.harness.waiting import eventually

SLOW_TO_END = """
import pathlib, signal, sys, time
signal.signal(signal.SIGTERM, lambda *_: (time.sleep(1.5), sys.exit()))
pathlib.Path(sys.argv[1]).touch()
time.sleep(600)
"""

ENDS_WHEN_IT_MAY = """
import pathlib, signal, sys, time

def end(*_):
    while not pathlib.Path(sys.argv[2]).exists():
        time.sleep(0.05)
    sys.exit()

signal.signal(signal.SIGTERM, end)
pathlib.Path(sys.argv[1]).touch()
time.sleep(600)
"""


WRITES_ITS_ENVIRONMENT = """
import json, os, pathlib, sys, time
place = pathlib.Path(sys.argv[1])
place.with_suffix(".new").write_text(json.dumps(dict(os.environ)))
place.with_suffix(".new").rename(place)
time.sleep(600)
"""

OF_ANOTHER_SPARK = {
    "SPARK_HOME": "/opt/another-spark",
    "SPARK_CONF_DIR": "/etc/another-spark",
    "SPARK_LOCAL_DIRS": "/mnt/scratch",
    "SPARK_REMOTE": "sc://elsewhere",
    "_SPARK_AUTH_SECRET": "another",
    "PYSPARK_SUBMIT_ARGS": "--master yarn pyspark-shell",
    "PYSPARK_PYTHON": "/usr/bin/another-python",
    "PYSPARK_GATEWAY_PORT": "1",
    "HADOOP_CONF_DIR": "/etc/another-hadoop",
    "YARN_CONF_DIR": "/etc/another-hadoop",
}


@pytest.fixture
def supervisor(side: Side, tmp_path: Path) -> Iterator[Supervisor]:
    """Runs two programs that take a while to end."""
    names = (OBSERVE, CONSOLE)
    running = Supervisor(side)
    slow = [sys.executable, "-c", SLOW_TO_END]
    running.start([own_program(side, name, [*slow, str(tmp_path / name)]) for name in names])
    for name in names:
        running.start_program(name)
    eventually(lambda: all((tmp_path / name).exists() for name in names), 60, "both programs run")
    yield running
    running.shut_down()


def test_several_programs_have_ended_when_they_are_said_to_be_stopped(
    side: Side, supervisor: Supervisor
) -> None:
    supervisor.stop_programs([OBSERVE, CONSOLE])
    assert set(supervisor.states().values()) == {"STOPPED"}
    assert not side_processes(side.root, OBSERVE)
    assert not side_processes(side.root, CONSOLE)


def test_a_supervisor_that_is_suspended_does_not_hold_up_who_asks_it(
    side: Side, supervisor: Supervisor
) -> None:
    asking = Supervisor(side, answer_seconds=0.5)
    (process,) = side_processes(side.root, "supervisor")
    process.suspend()
    try:
        with pytest.raises(SupervisorError, match="does not answer: timed out"):
            asking.states()
        assert not asking.answers()
    finally:
        process.resume()
    supervisor.stop_program(OBSERVE)
    assert supervisor.states()[OBSERVE] == "STOPPED", "which takes it longer than that"


def test_who_asks_while_a_side_is_stopped_learns_just_that(side: Side, tmp_path: Path) -> None:
    runs, may_end, running = tmp_path / "runs", tmp_path / "may end", Supervisor(side)
    command = [sys.executable, "-c", ENDS_WHEN_IT_MAY, str(runs), str(may_end)]
    running.start([own_program(side, OBSERVE, command)])
    running.start_program(OBSERVE)
    eventually(runs.exists, 60, "the program runs")
    stopping = threading.Thread(target=running.shut_down)
    stopping.start()
    try:
        eventually(lambda: not running.answers(), 60, "it has begun to stop")
        asking = Supervisor(side)
        for ask in (asking.states, lambda: asking.pid(OBSERVE), lambda: asking.not_ended([OBSERVE])):
            with pytest.raises(SupervisorError, match="the side is being stopped; wait, then `hifi up`"):
                ask()
        (check,) = health(side)
        assert (check.ok, check.found) == (False, "the side is being stopped")
    finally:
        may_end.touch()
        stopping.join()


def test_another_spark_of_the_users_shell_does_not_reach_a_sides_programs(
    side: Side, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in OF_ANOTHER_SPARK.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("JAVA_HOME", "/opt/the-users-java")
    place, running = tmp_path / "environment", Supervisor(side)
    command = [sys.executable, "-c", WRITES_ITS_ENVIRONMENT, str(place)]
    running.start([own_program(side, OBSERVE, command)])
    try:
        running.start_program(OBSERVE)
        eventually(place.exists, 60, "the program runs")
    finally:
        running.shut_down()
    found = json.loads(place.read_text())
    assert Path(found.pop("SPARK_HOME"), "bin", "spark-class").is_file()
    assert not found.keys() & OF_ANOTHER_SPARK.keys()
    assert found["JAVA_HOME"] == "/opt/the-users-java"
