"""A process is recognised later, and never confused with another one."""

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec
import psutil
import pytest

from shared.runtime.process_id import ProcessId, own_process_id, process_id, process_of


@dataclass
class ClockStep:
    """Seconds by which the system's clock was set forward: /proc/stat then has another start time."""

    monkeypatch: pytest.MonkeyPatch
    started: float

    def forward(self, seconds: float) -> None:
        platform = psutil._psplatform  # type: ignore[attr-defined]  # what psutil computes times of day with
        self.monkeypatch.setattr(platform, "boot_time", lambda: self.started + seconds)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> ClockStep:
    return ClockStep(monkeypatch, psutil.boot_time())


@pytest.fixture
def other() -> Iterator["subprocess.Popen[bytes]"]:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        yield process
        process.kill()


def test_a_process_is_the_same_after_a_step_of_the_clock(
    clock: ClockStep, other: "subprocess.Popen[bytes]"
) -> None:
    before = process_id(other.pid)
    assert before is not None
    made = psutil.Process(other.pid).create_time()
    clock.forward(3_600)
    assert psutil.Process(other.pid).create_time() != made, "the step is seen by what computes times of day"
    found = process_of(before)
    assert found is not None
    assert found.pid == other.pid


def test_a_process_is_recognised_by_its_id_from_a_file(
    other: "subprocess.Popen[bytes]", tmp_path: Path
) -> None:
    (tmp_path / "who").write_bytes(msgspec.json.encode(process_id(other.pid)))
    read = msgspec.json.decode((tmp_path / "who").read_bytes(), type=ProcessId)
    assert process_of(read) is not None


def test_a_later_process_with_the_number_of_an_earlier_one_is_not_taken_for_it() -> None:
    mine = own_process_id()
    assert process_of(mine) is not None
    assert process_of(ProcessId(mine.pid, f"{mine.started}0")) is None
    boot, _, ticks = mine.started.rpartition(" ")
    assert process_of(ProcessId(mine.pid, f"another{boot} {ticks}")) is None, "before the machine was started"


def test_a_name_with_parentheses_and_spaces_does_not_hide_the_start(tmp_path: Path) -> None:
    program = tmp_path / "a) 1 2 (b"
    program.symlink_to(sys.executable)
    with subprocess.Popen([program, "-c", "input()"], stdin=subprocess.PIPE) as process:
        beside = own_process_id()
        found = process_id(process.pid)
        process.kill()
    assert found is not None
    assert abs(_ticks(found) - _ticks(beside)) < 100 * 3_600, "ticks, not another field"
    assert _ticks(found) >= _ticks(beside)


def _ticks(of: ProcessId) -> int:
    return int(of.started.rpartition(" ")[2])


def test_a_process_that_has_ended_is_none(other: "subprocess.Popen[bytes]") -> None:
    ended = process_id(other.pid)
    assert ended is not None
    other.kill()
    other.wait()
    assert process_of(ended) is None
    assert process_id(other.pid) is None
