"""`hifi bench --quick` from start to end: figures of both chains, no losses, no leftover processes."""

import os
import subprocess
from pathlib import Path

import msgspec
import psutil
import pytest

from scripts.experiments.bench.results import Report, total
from tests.harness.command_line import HIFI

pytestmark = pytest.mark.proof


def children_left() -> list[str]:
    mark = "HIFI_BENCH_TEST"
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get(mark) == str(os.getpid()):
                found.append(" ".join(process.cmdline()))
        except psutil.Error:
            continue
    return found


def test_a_quick_bench_reports_both_chains_loses_nothing_and_leaves_no_process(tmp_path: Path) -> None:
    out, page = tmp_path / "bench.json", tmp_path / "bench.md"
    command = [*HIFI, "bench", "--quick", "--no-rating"]
    environment = {**os.environ, "HIFI_BENCH_TEST": str(os.getpid())}
    subprocess.run([*command, "--out", out, "--markdown", page], check=True, timeout=590, env=environment)
    report = msgspec.json.decode(out.read_bytes(), type=Report)
    assert [target.name for target in report.targets] == ["hifi", "yardstick"]
    runs = [run for target in report.targets for phase in target.phases for run in phase.runs]
    assert total(runs, lambda run: run.lost) == 0
    assert all(run.delivered == run.sent.acked == run.sent.events for run in runs)
    assert {"broker-1", "collect", "spark jvm", "load", "destination"} <= runs[0].cpu.keys()
    assert "hifi against the yardstick" in page.read_text()
    assert children_left() == []
