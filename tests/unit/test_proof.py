"""Parts of `make proof`: one at a time, but beside those that only wait."""

import sys
from pathlib import Path

import pytest
from rich.console import Console

from tests.proof import Part, run_parts

_WAITS = """
import pathlib, time
print("waiting now", flush=True)
deadline = time.monotonic() + 20
while not pathlib.Path("made").exists():
    assert time.monotonic() < deadline, "no part ran meanwhile"
    time.sleep(0.01)
"""
_BUSY = "import pathlib, time; pathlib.Path('busy').touch(); time.sleep(0.3); pathlib.Path('busy').unlink()"
_ALONE = "import pathlib; assert not pathlib.Path('busy').exists(); pathlib.Path('made').touch()"


def _part(name: str, program: str, only_waits_after: str | None = None) -> Part:
    return Part(name, "", (sys.executable, "-c", program), only_waits_after=only_waits_after)


def test_parts_run_one_at_a_time_but_beside_one_that_only_waits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    parts = [_part("busy", _BUSY), _part("alone", _ALONE), _part("waits", _WAITS, "waiting now")]
    results = run_parts(parts, Console(quiet=True))
    assert [result.part.name for result in results] == ["busy", "alone", "waits"]
    assert [result.status for result in results] == [0, 0, 0]


def test_a_part_that_fails_does_not_stop_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    parts = [
        _part("fails", "raise SystemExit('lost 3 events')", "never printed"),
        _part("holds", "print('0 lost')"),
    ]
    failed, held = run_parts(parts, Console(quiet=True))
    assert (failed.status, failed.figures) == (1, "lost 3 events")
    assert (held.status, held.figures) == (0, "0 lost")
