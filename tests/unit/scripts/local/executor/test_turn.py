"""A side's executors rehearse one at a time, whatever happens to the one that has its turn."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from scripts.local.executor.turn import turn

_HOLDS = """
import sys
from scripts.local.executor.turn import turn
with turn(lambda: False) as has_come:
    print(has_come, flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    return tmp_path


def _holder(temporary: Path) -> "subprocess.Popen[str]":
    environment = os.environ | {"TMPDIR": str(temporary)}
    command = [sys.executable, "-c", _HOLDS]
    holder = subprocess.Popen(
        command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == "True\n"
    return holder


def test_the_turn_comes_when_the_one_before_is_killed(temporary: Path) -> None:
    with _holder(temporary) as holder:
        with turn(lambda: False, most_seconds=0.5) as has_come:
            assert not has_come, "two rehearse at a time"
        holder.kill()
        holder.wait()
        with turn(lambda: False, most_seconds=60) as has_come:
            assert has_come


def test_an_executor_that_is_not_wanted_any_more_does_not_wait_for_its_turn(temporary: Path) -> None:
    with _holder(temporary) as holder:
        with turn(lambda: True) as has_come:
            assert not has_come
        holder.kill()
