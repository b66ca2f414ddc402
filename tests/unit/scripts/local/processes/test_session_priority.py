"""Of two sessions on one core, a lowered one leaves most of it, and takes its share back later."""

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence

import psutil
import pytest

from scripts.local.processes.session_priority import lower_session, restore_session
from tests.harness.session_priority import shares_by_session
from tests.harness.waiting import eventually

SPIN = "import time\nend = time.monotonic() + 120\nwhile time.monotonic() < end: pass"


@pytest.fixture
def spinning() -> Iterator[Sequence[psutil.Process]]:
    """Two processes on one core, each in its own session."""
    core = min(os.sched_getaffinity(0))
    started = [subprocess.Popen([sys.executable, "-c", SPIN], start_new_session=True) for _ in range(2)]
    try:
        for process in started:
            os.sched_setaffinity(process.pid, {core})
        yield [psutil.Process(process.pid) for process in started]
    finally:
        for process in started:
            process.kill()
            process.wait()


def share(spinning: Sequence[psutil.Process], seconds: float) -> float:
    """CPU time of the first process over some seconds, relative to the second one's."""
    before = used(spinning)

    def since() -> Sequence[float]:
        found = [after - earlier for after, earlier in zip(used(spinning), before, strict=True)]
        return found if sum(found) >= seconds else []

    first, second = eventually(since)
    return float(first / second)


def used(spinning: Sequence[psutil.Process]) -> Sequence[float]:
    return [sum(each.cpu_times()[:2]) for each in spinning]


@shares_by_session
@pytest.mark.parametrize("seconds", [0.6, pytest.param(1.5, marks=pytest.mark.proof)])
def test_a_lowered_session_gets_a_third_of_what_another_one_gets(
    spinning: Sequence[psutil.Process], seconds: float
) -> None:
    lower_session(spinning[0].pid)
    assert share(spinning, seconds) == pytest.approx(1 / 3, abs=0.15)
    restore_session(spinning[0].pid)
    assert share(spinning, seconds) == pytest.approx(1, abs=0.3)


def test_lowering_or_restoring_a_session_that_has_ended_raises_nothing() -> None:
    process = subprocess.Popen([sys.executable, "-c", ""], start_new_session=True)
    process.wait()
    lower_session(process.pid)
    restore_session(process.pid)
