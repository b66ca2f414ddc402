"""Programs run without a supervisor while archives of classes are recorded."""

import sys
import time
from pathlib import Path

import pytest

from scripts.local.processes.program import Program, side_environment
from scripts.local.recorded_programs import RecordingError, running, until
from scripts.local.side import Side

_NAME = "broker-1"


def _side(folder: Path) -> Side:
    side = Side(root=folder, port=8080, partitions=1)
    side.create()
    return side


def _program(side: Side, code: str) -> Program:
    return Program(
        name=_NAME,
        command=[sys.executable, "-c", code],
        environment=side_environment(side, _NAME),
        group="brokers",
        order=10,
        start_seconds=3,
        stop_seconds=20,
    )


def test_a_program_that_ends_by_itself_ends_the_wait_with_its_last_words(tmp_path: Path) -> None:
    side = _side(tmp_path)
    program = _program(side, "import sys; sys.exit('no such\\nflag')")
    with (
        running(side, [program]) as started,
        pytest.raises(RecordingError, match="broker-1 ended by itself: no such flag"),
    ):
        until(lambda: False, "a broker", started)


@pytest.mark.parametrize("seconds", [0.2, pytest.param(0.5, marks=pytest.mark.proof)])
def test_a_program_is_given_the_time_to_write_as_it_ends(tmp_path: Path, seconds: float) -> None:
    side, written = _side(tmp_path), tmp_path / "archive"
    code = (
        "import pathlib, signal, sys, time\n"
        "def end(*_):\n"
        f"    time.sleep({seconds}); pathlib.Path({str(written)!r}).touch(); sys.exit()\n"
        "signal.signal(signal.SIGTERM, end)\n"
        "print('up', flush=True)\n"
        "time.sleep(600)\n"
    )
    began = time.monotonic()
    with running(side, [_program(side, code)]) as started:
        until(lambda: "up" in started[0].log.read_text(), "it", started)
    assert written.exists()
    assert time.monotonic() - began < 200
