"""Which driver has the checkpoints, and how it is ended."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from shared.runtime.process_id import ProcessId, own_process_id, process_id, process_of
from shared.spark.checkpoint_owners import FOLDER, acquired_lately, end_processes

_NOW = 1_700_000_000.0


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
    assert process_of(meant) is None


@pytest.mark.parametrize("ago", [39.0, -39.0])
def test_a_running_driver_that_acquired_a_node_lately_is_noticed(tmp_path: Path, ago: float) -> None:
    _acquired(tmp_path, own_process_id(), _NOW - ago)
    assert acquired_lately(tmp_path, _NOW, 40)


@pytest.mark.parametrize("ago", [41.0, -3_600.0])
def test_one_that_did_long_ago_is_not_waited_for_nor_after_the_clock_was_set_back(
    tmp_path: Path, ago: float
) -> None:
    _acquired(tmp_path, own_process_id(), _NOW - ago)
    assert not acquired_lately(tmp_path, _NOW, 40)


def test_one_that_has_ended_is_not_waited_for(tmp_path: Path) -> None:
    _acquired(tmp_path, ProcessId(own_process_id().pid, "an earlier one"), _NOW)
    assert not acquired_lately(tmp_path, _NOW, 40)


def _acquired(checkpoints: Path, by: ProcessId, at: float) -> None:
    folder = checkpoints / FOLDER
    folder.mkdir()
    file = folder / "route.owner"
    file.write_bytes(msgspec.json.encode((by,)))
    os.utime(file, (at, at))
