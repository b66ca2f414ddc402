"""The driver that owns the checkpoints, and the ways to end it."""

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import msgspec
import psutil
import pytest

from shared.runtime.process_id import ProcessId, own_process_id, process_id
from shared.spark.checkpoint_owners import FOLDER, acquired_lately, end_processes, owner

_NOW = 1_700_000_000.0

_FOR_EVER = 3_600.0

_DOES_NOT_REAP = """
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
print(child.pid, flush=True)
input()
"""


@pytest.fixture
def other() -> Iterator["subprocess.Popen[bytes]"]:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        yield process
        process.kill()


def test_a_process_that_only_has_the_number_of_an_earlier_one_is_left_alone(
    other: "subprocess.Popen[bytes]",
) -> None:
    end_processes((ProcessId(other.pid, "an earlier one"),))
    assert other.poll() is None


def test_the_process_that_is_meant_is_ended(other: "subprocess.Popen[bytes]") -> None:
    meant = process_id(other.pid)
    assert meant is not None
    end_processes((meant,))
    assert other.wait(60) == -9


def test_a_process_that_its_parent_does_not_reap_is_not_waited_for() -> None:
    command = [sys.executable, "-c", _DOES_NOT_REAP]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        meant = process_id(int(parent.stdout.readline()))
        assert meant is not None
        ending = threading.Thread(target=end_processes, args=((meant,), _FOR_EVER), daemon=True)
        ending.start()
        ending.join(60)
        assert not ending.is_alive()
        assert psutil.Process(meant.pid).status() == psutil.STATUS_ZOMBIE
        parent.kill()


def test_a_process_that_the_kernel_does_not_end_is_not_waited_for_for_ever(
    other: "subprocess.Popen[bytes]", monkeypatch: pytest.MonkeyPatch
) -> None:
    meant = process_id(other.pid)
    assert meant is not None
    monkeypatch.setattr(psutil.Process, "kill", lambda _: None)  # like one that waits for a disk
    end_processes((meant,), seconds=0.1)
    assert other.poll() is None


@pytest.mark.parametrize("ago", [39.0, -39.0])
def test_a_running_driver_that_acquired_a_node_lately_is_noticed(tmp_path: Path, ago: float) -> None:
    _acquired(tmp_path, own_process_id(), _NOW - ago)
    assert acquired_lately(tmp_path, _NOW, 40)


@pytest.mark.parametrize("ago", [41.0, -3_600.0])
def test_a_driver_that_acquired_a_node_long_ago_is_not_noticed_even_after_the_clock_was_set_back(
    tmp_path: Path, ago: float
) -> None:
    _acquired(tmp_path, own_process_id(), _NOW - ago)
    assert not acquired_lately(tmp_path, _NOW, 40)


def test_an_ended_driver_that_acquired_a_node_is_not_noticed(tmp_path: Path) -> None:
    _acquired(tmp_path, ProcessId(own_process_id().pid, "an earlier one"), _NOW)
    assert not acquired_lately(tmp_path, _NOW, 40)


def test_a_file_of_an_earlier_version_names_no_process(tmp_path: Path) -> None:
    file = tmp_path / "route.owner"
    file.write_text('[{"pid":1,"created":1700000000.5}]')
    with pytest.raises(msgspec.DecodeError):
        owner(file)


def _acquired(checkpoints: Path, by: ProcessId, at: float) -> None:
    folder = checkpoints / FOLDER
    folder.mkdir()
    file = folder / "route.owner"
    file.write_bytes(msgspec.json.encode((by,)))
    os.utime(file, (at, at))
