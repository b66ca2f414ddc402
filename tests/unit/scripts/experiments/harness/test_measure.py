import threading
import time
from pathlib import Path

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
    monkeypatch.setattr(measure, "QUIET_SECONDS", 2.0)
    path = tmp_path / "received.tsv"
    path.touch()

    def write() -> None:
        for _ in range(4):
            time.sleep(0.8)  # longer than the quiet time in total, but each gap shorter
            with path.open("a") as file:
                file.write("a\n")

    writer = threading.Thread(target=write)
    writer.start()
    arrivals = LineCounter(path)
    arrivals.drain(4)
    assert arrivals.count() == 4
    writer.join()


def test_a_drain_ends_when_nothing_comes_any_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measure, "QUIET_SECONDS", 0.3)
    path = tmp_path / "received.tsv"
    path.write_text("a\n")
    began = time.monotonic()
    LineCounter(path).drain(2)
    assert time.monotonic() - began < 30
