"""Parts of `make proof`: up to three checks at a time, one measurement, and all waiting parts beside them."""

import sys
from pathlib import Path

import pytest
from rich.console import Console

from tests.proof import LOGS, Part, run_parts
from tests.proven import Record, keep, proven

_WAITS = """
import pathlib, time
print("waiting now", flush=True)
deadline = time.monotonic() + 120
while not pathlib.Path("made").exists():
    assert time.monotonic() < deadline, "no part ran meanwhile"
    time.sleep(0.01)
"""
_BUSY = "import pathlib, time; pathlib.Path('busy').touch(); time.sleep(0.3); pathlib.Path('busy').unlink()"
_ALONE = "import pathlib; assert not pathlib.Path('busy').exists(); pathlib.Path('made').touch()"
_MEETS = """
import pathlib, sys, time
own, other = (pathlib.Path(name) for name in sys.argv[1:])
own.touch()
deadline = time.monotonic() + 120
while not other.exists():
    assert time.monotonic() < deadline, "the other part did not run meanwhile"
    time.sleep(0.01)
"""


def _part(
    name: str,
    program: str,
    *arguments: str,
    only_waits_after: str | None = None,
    measures: bool = False,
) -> Part:
    command = (sys.executable, "-c", program, *arguments)
    return Part(name, "", command, only_waits_after=only_waits_after, measures=measures)


def test_parts_that_measure_run_one_at_a_time_but_beside_one_that_only_waits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    parts = [
        _part("alone", _ALONE, measures=True),
        _part("busy", _BUSY),
        _part("as busy", _BUSY, measures=True),
        _part("alone too", _ALONE, measures=True),
        _part("waits", _WAITS, only_waits_after="waiting now"),
    ]
    results = run_parts(parts, Console(quiet=True), "")
    assert [result.part.name for result in results] == ["alone", "busy", "as busy", "alone too", "waits"]
    assert [result.status for result in results] == [0, 0, 0, 0, 0]


def test_the_figures_of_a_part_are_its_last_line_but_for_what_its_clients_log_at_their_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ends = "print('=== 21 passed ==='); print(); print('%3|1.5|FAIL|rdkafka#producer-9| refused')"
    (result,) = run_parts([_part("ends", ends)], Console(quiet=True), "")
    assert result.figures == "21 passed"


def test_two_parts_that_only_check_run_side_by_side(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    parts = [_part("one", _MEETS, "one", "two"), _part("two", _MEETS, "two", "one")]
    assert [result.status for result in run_parts(parts, Console(quiet=True), "")] == [0, 0]


def test_a_part_that_fails_does_not_stop_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    parts = [
        _part("fails", "raise SystemExit('lost 3 events')", only_waits_after="never printed"),
        _part("holds", "print('0 lost')"),
    ]
    failed, held = run_parts(parts, Console(quiet=True), "c1")
    assert (failed.status, failed.figures) == (1, "lost 3 events")
    assert (held.status, held.figures) == (0, "0 lost")
    known = {
        (part, commit): proven(LOGS, part, commit) for part in ("fails", "holds") for commit in ("c1", "c2")
    }
    assert [key for key, record in known.items() if record] == [("holds", "c1")]


def test_nothing_is_known_of_files_that_are_no_commit(tmp_path: Path) -> None:
    keep(tmp_path, "part", Record(commit="", status=0, seconds=1, figures="0 lost"))
    assert proven(tmp_path, "part", "") is None
