"""`make demo-twins` as a user runs it, with its own two sides, reports the fate of its events."""

import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import psutil
import pytest

from scripts.demo.twins import RATE
from scripts.local.ports import free_base
from scripts.local.process_marks import kill, side_processes
from scripts.local.twins.place import Twins
from tests.harness.command_line import without_settings
from tests.harness.twins_ports import TWINS_PORTS

pytestmark = [pytest.mark.proof, pytest.mark.timeout(3_600)]

MOST_SECONDS: Final = 3_000
_DEMO: Final = (sys.executable, "-m", "scripts.demo.twins")
_SHOWN: Final = 6_000


def test_the_demo_on_two_sides_loses_doubles_and_spends_nothing_and_leaves_no_process(
    tmp_path_factory: pytest.TempPathFactory, pytestconfig: pytest.Config
) -> None:
    folder = tmp_path_factory.mktemp("demo").resolve()
    twins = Twins(root=folder / "data", port=free_base(count=TWINS_PORTS))
    try:
        rate = RATE * pytestconfig.getoption("--load-percent") / 100
        status, said = _run(twins, rate, folder / "demo.log")
        sys.stdout.write(said[-_SHOWN:])
        assert not _processes(twins), "a process is left"
    finally:
        kill(_processes(twins))
    assert status == 0
    figures = r"^lost ([\d,]+), doubled ([\d,]+), minutes spent (\d+)$"
    assert re.findall(figures, said, re.MULTILINE) == [("0", "0", "0")]


def _run(twins: Twins, rate: float, output: Path) -> tuple[int, str]:
    """Exit status and output of the demo."""
    with output.open("wb") as file:
        done = subprocess.run(
            [*_DEMO, "--data", str(twins.root), "--port", str(twins.port), "--rate", str(rate)],
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            env=without_settings(),
            timeout=MOST_SECONDS,
            check=False,
        )
    return done.returncode, output.read_text(errors="replace")


def _processes(twins: Twins) -> Sequence[psutil.Process]:
    roots = (twins.edge.root, *(side.root for side in twins.sides))
    return [process for root in roots for process in side_processes(root)]
