import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from scripts.experiments.harness import measure
from scripts.experiments.harness.measure import LineCounter


def test_lines_are_counted_as_the_file_grows(tmp_path: Path) -> None:
    path = tmp_path / "received.tsv"
    path.write_text("a\nb\nhalf")
    arrivals = LineCounter(path)
    assert arrivals.count() == 2
    with path.open("a") as file:
        file.write(" a line\n")
    assert arrivals.count() == 3


def test_a_drain_waits_while_events_still_arrive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, now = tmp_path / "received.tsv", [0.0]
    path.touch()

    def sleep(_: float) -> None:
        now[0] += 0.4 * measure.QUIET_SECONDS  # all of them exceed the quiet time
        with path.open("a") as file:
            file.write("a\n")

    monkeypatch.setattr(measure, "time", SimpleNamespace(monotonic=lambda: now[0], sleep=sleep))
    arrivals = LineCounter(path)
    arrivals.drain(4)
    assert arrivals.count() == 4


def test_a_drain_ends_when_nothing_comes_any_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measure, "QUIET_SECONDS", 0.05)
    path = tmp_path / "received.tsv"
    path.write_text("a\n")
    began = time.monotonic()
    LineCounter(path).drain(2)
    assert time.monotonic() - began < measure.DRAIN_SECONDS / 2
