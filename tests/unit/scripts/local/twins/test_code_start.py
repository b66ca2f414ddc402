"""A start continues where a dead deployer left a side, even within its parking."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from scripts.local.processes.profile import SideProfile
from scripts.local.processes.programs import CANARY, COLLECT, CONSOLE, OBSERVE, programs_of
from scripts.local.side import Code
from scripts.local.twins import code_start
from scripts.local.twins.code_start import CodeStart, mark_warm
from scripts.local.twins.place import Twins
from tests.harness.waiting import eventually

VERSION = "2.0"


class Supervised:
    """Programs in scripted states."""

    def __init__(self, states: Mapping[str, str]) -> None:
        self._states = states

    def states(self) -> Mapping[str, str]:
        return self._states

    def pid(self, _: str) -> int:
        return 7


def started(root: Path, monkeypatch: pytest.MonkeyPatch, *stopped: str) -> bool:
    """Whether a warm version is started again when these of its programs are stopped."""
    states = dict.fromkeys(programs_of(SideProfile.ALL), "RUNNING") | dict.fromkeys(stopped, "STOPPED")
    supervisor: Any = Supervised(states)
    profiles: list[SideProfile] = []
    monkeypatch.setattr(code_start, "Supervisor", lambda _: supervisor)
    monkeypatch.setattr(
        code_start, "start_profile", lambda _side, _supervisor, profile, *_: profiles.append(profile)
    )
    twins = Twins(root=root, partitions=1)
    side = replace(twins.side("green"), code=Code(version=VERSION, source=root))
    side.create()
    mark_warm(side, supervisor)
    start = CodeStart(twins, "green", 0)
    start.start(VERSION)
    eventually(lambda: not start._background.busy, 60, "the start is over")
    return bool(profiles)


@pytest.mark.parametrize("stopped", [(CANARY,), (CANARY, COLLECT), (CANARY, COLLECT, CONSOLE, OBSERVE)])
def test_a_side_that_is_stopped_in_part_is_started_again(
    stopped: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert started(tmp_path, monkeypatch, *stopped)


def test_a_version_that_runs_and_is_warm_is_not_started_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not started(tmp_path, monkeypatch)
