"""A start continues where a dead deployer left a side, and leaves a side that runs as it is."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from scripts.local.jars import cached_jars
from scripts.local.processes.profile import SideProfile
from scripts.local.processes.programs import CANARY, COLLECT, CONSOLE, OBSERVE, programs_of
from scripts.local.processes.supervisor import SupervisorError
from scripts.local.side import Code
from scripts.local.twins import code_start
from scripts.local.twins.code_start import CodeStart
from scripts.local.twins.place import Twins
from scripts.local.twins.traffic import PinnedTenant, State
from scripts.local.twins.warm_mark import mark_warm
from scripts.local.warmup.warmup import WarmUpLimits, gentle
from tests.harness.waiting import eventually

VERSION = "2.0"
WARM_UP_SECONDS = 120.0
SUPERVISOR_SILENT = "the supervisor does not answer"
NOT_WARM = ["its warm-up is not over"]


class Supervised:
    """Programs in scripted states."""

    def __init__(self, *stopped: str) -> None:
        self.driver = 7
        self._stopped = stopped

    def states(self) -> dict[str, str]:
        return dict.fromkeys(programs_of(SideProfile.ALL), "RUNNING") | dict.fromkeys(
            self._stopped, "STOPPED"
        )

    def pid(self, _: str) -> int:
        return self.driver

    def starts(self, _: str) -> int:
        return 1


class WarmSide:
    """Green, with a version that is warm and processes events. Its programs are simulated."""

    def __init__(self, root: Path, patch: pytest.MonkeyPatch, *stopped: str) -> None:
        self.warm_ups: list[WarmUpLimits] = []
        """Limits of the warm-ups that were begun."""

        self._twins, self._supervisor = Twins(root=root, partitions=1), Supervised(*stopped)
        supervisor: Any = self._supervisor
        patch.setattr(code_start, "Supervisor", lambda _: supervisor)
        patch.setattr(code_start, "says_ready", lambda _: True)
        patch.setattr(code_start, "start_profile", lambda *given: self.warm_ups.append(given[-1]))
        side = replace(self._twins.side("green"), code=Code(version=VERSION, source=root))
        side.create()
        self._twins.edge.create()
        self._spark_ready = side.spark_ready
        self._run_driver(7)
        mark_warm(side, supervisor)
        self.code = CodeStart(self._twins, "green", WARM_UP_SECONDS)

    def restart_driver(self) -> None:
        """Let the driver end and be started again, as supervisord does."""
        self._run_driver(self._supervisor.driver + 1)

    def share(self, percent: int, *pinned: str) -> None:
        """Give the side so much of all traffic, and that of pinned customers."""
        tenants = {each: PinnedTenant(side="green", keys=[]) for each in pinned}
        weights = {"blue": 100 - percent, "green": percent}
        self._twins.edge.state.write_bytes(
            msgspec.json.encode(State(weights=weights, lead="blue", pinned=tenants))
        )

    def start(self) -> Sequence[WarmUpLimits]:
        """Limits of the warm-ups that were begun once the start is over."""
        self.code.start(VERSION)
        self._finish()
        return self.warm_ups

    def park(self) -> None:
        """Park it, and return when that is over."""
        self.code.park()
        self._finish()

    def _finish(self) -> None:
        eventually(lambda: not self.code._background.busy, 60, "the work in the background is over")

    def _run_driver(self, process: int) -> None:
        self._supervisor.driver = process
        self._spark_ready.write_text(str(process))


@pytest.mark.parametrize("stopped", [(CANARY,), (CANARY, COLLECT), (CANARY, COLLECT, CONSOLE, OBSERVE)])
def test_a_side_that_is_stopped_in_part_is_started_again(
    stopped: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert WarmSide(tmp_path, monkeypatch, *stopped).start() == [gentle(WARM_UP_SECONDS)]


def test_a_version_that_runs_and_is_warm_is_not_started_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert WarmSide(tmp_path, monkeypatch).start() == []


@pytest.mark.parametrize(("percent", "pinned"), [(100, ()), (50, ()), (1, ()), (0, ("bank",))])
def test_a_side_with_traffic_is_ready_although_its_driver_was_started_again(
    percent: int, pinned: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    side = WarmSide(tmp_path, monkeypatch)
    side.share(percent, *pinned)
    side.restart_driver()
    assert side.code.waiting_for() == []
    assert side.start() == [], "no synthetic load beside customers' events"
    assert side.code.waiting_for() == []


def test_a_side_without_traffic_is_warmed_up_again_if_its_driver_was_started_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    side = WarmSide(tmp_path, monkeypatch)
    side.share(0)
    side.restart_driver()
    assert side.code.waiting_for() == NOT_WARM
    assert side.start() == [gentle(WARM_UP_SECONDS)]
    assert side.code.waiting_for() == []


def test_a_side_with_traffic_that_is_stopped_in_part_is_started_without_a_load_and_not_marked_warm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    side = WarmSide(tmp_path, monkeypatch, CANARY)
    side.share(50)
    side.restart_driver()
    assert side.start() == [gentle(0)], "only whether an event passes through"
    side.share(0)
    assert side.code.waiting_for() == NOT_WARM


def test_a_parking_that_failed_before_it_stopped_anything_does_not_keep_the_side_from_being_ready(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise SupervisorError(SUPERVISOR_SILENT)

    monkeypatch.setattr(code_start, "ensure_jars", lambda _: cached_jars())
    monkeypatch.setattr(code_start, "stop_code", fail)
    side = WarmSide(tmp_path, monkeypatch)
    side.park()
    assert side.code.waiting_for() == [SUPERVISOR_SILENT]
    assert side.start() == [], "it runs and is warm"
    assert side.code.waiting_for() == []
