"""One driver holds a checkpoint's lock; another waits for it in the kernel, whatever happens to the first."""

import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest
from pyspark.sql import SparkSession

from shared.runtime.process_id import process_id
from shared.spark.checkpoint_locks import CheckpointLocks
from shared.spark.checkpoint_owners import acquired_lately, end_processes

_HOLD = """
import fcntl, sys
file = open(sys.argv[1], "a+b")
try:
    fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
except OSError:
    print("refused", flush=True)
else:
    print("held", flush=True)
    sys.stdin.read()
"""


@contextmanager
def other(file: Path) -> Iterator["subprocess.Popen[str]"]:
    """Another process that tries to lock a file, as another driver's JVM does."""
    command = [sys.executable, "-c", _HOLD, str(file)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def said(process: "subprocess.Popen[str]") -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


@pytest.fixture
def locks(spark: SparkSession, tmp_path: Path) -> Iterator[CheckpointLocks]:
    found = CheckpointLocks(spark, tmp_path)
    yield found
    found.close()


def test_another_process_is_refused_until_the_node_is_released(
    locks: CheckpointLocks, tmp_path: Path
) -> None:
    file = tmp_path / ".drivers" / "route.lock"
    assert locks.try_acquire("route")
    with other(file) as first:
        assert said(first) == "refused"
    locks.release("route")
    with other(file) as second:
        assert said(second) == "held"
        assert not locks.try_acquire("route")


def test_one_driver_at_a_time_tries_for_several_nodes(locks: CheckpointLocks, tmp_path: Path) -> None:
    file = tmp_path / ".drivers" / "chain.lock"
    for _ in range(2):
        with locks.alone(), other(file) as process:
            assert said(process) == "refused"
    with other(file) as process:
        assert said(process) == "held"
    assert not acquired_lately(tmp_path, time.time(), 60), "it is no node"


def test_a_waiting_driver_has_the_node_as_soon_as_the_other_is_killed_and_not_while_it_is_suspended(
    locks: CheckpointLocks, tmp_path: Path
) -> None:
    with other(tmp_path / ".drivers" / "ingest.lock") as process:
        assert said(process) == "held"
        waiting = threading.Thread(target=locks.acquire, args=("ingest",), daemon=True)
        waiting.start()
        process.send_signal(signal.SIGSTOP)
        waiting.join(0.5)
        assert waiting.is_alive()
        held_by = process_id(process.pid)
        assert held_by is not None
        end_processes((held_by,))
        waiting.join(60)
        assert not waiting.is_alive()


def test_a_driver_shows_that_it_waits_that_it_beats_and_that_it_took_over(
    locks: CheckpointLocks, tmp_path: Path
) -> None:
    assert not locks.is_awaited()
    with other(tmp_path / ".drivers" / "standby.lock") as process:
        assert said(process) == "held"
        assert locks.is_awaited()
    assert locks.last_beat("audit") == ""
    assert locks.try_acquire("audit")
    locks.beat(1)
    first = locks.last_beat("audit")
    locks.beat(2)
    assert locks.last_beat("audit") != first
    assert acquired_lately(tmp_path, time.time(), 60)
    assert not acquired_lately(tmp_path, time.time() + 61, 60)
    locks.note_at_work("audit")
    assert not locks.is_at_work("audit")


def test_the_owner_of_a_node_is_named_with_its_jvm(locks: CheckpointLocks) -> None:
    locks.acquire("transmit")
    names = {psutil.Process(each.pid).name() for each in locks.owner("transmit")}
    assert "java" in names
    assert locks.owner("none") == ()
