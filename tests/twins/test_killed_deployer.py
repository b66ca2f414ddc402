"""SIGKILL of the deployer of two real sides under load, in each step in which a release is seen."""

import os
import signal
import sys
import time
from pathlib import Path
from typing import Final

import pytest

from pipelines.control.deploy.policy import JUDGED, LOOKING
from scripts.local.processes.supervisor import Supervisor
from scripts.local.twins.programs import DEPLOY
from scripts.local.twins.versions import commit_of
from shared.contracts.release_steps import PLANS, Kind, Step
from tests.harness.live_twins import LiveTwins
from tests.harness.waiting import eventually
from tests.twins.customer import BATCH, RATE, Customer
from tests.twins.releases import Releases

pytestmark = [pytest.mark.proof, pytest.mark.timeout(3_600)]

_LOOK_SECONDS: Final = 0.2
_RELEASE_SECONDS: Final = 2_400
"""Seconds: each time another deployer leads after 5 s of silence, and may act after 16 s more."""

_RESTART_SECONDS: Final = 60
_SHOWN_SECONDS: Final = 60


def test_a_release_whose_deployer_is_killed_in_each_step_is_done_and_loses_nothing(
    live: LiveTwins, tmp_path: Path
) -> None:
    releases, commit = Releases(live), commit_of("HEAD")
    customer = Customer(live, "killed-deployer", tmp_path, RATE, BATCH)
    with customer.busy():
        releases.begin("deploy", commit)
        killed = _killed_in_each_step(releases, Supervisor(live.twins.edge))
        done = releases.done()
        serving = {done["target"]: (commit, 100, False), done["former"]: (done["former_version"], 0, True)}
        eventually(lambda: releases.serving() == serving, _SHOWN_SECONDS, f"{serving} is shown")
        customer.steady()
        releases.run("rollback")  # restored for the following tests
    assert customer.check().lost == ()
    assert set(killed) >= JUDGED & LOOKING & {*PLANS[Kind.DEPLOY]}, (
        "those last for minutes, and none of them was missed"
    )


def _killed_in_each_step(releases: Releases, supervisor: Supervisor) -> list[Step]:
    """Kill the deployer in each step until the release has ended; returns and prints the steps."""
    killed: list[Step] = []
    until = time.monotonic() + _RELEASE_SECONDS
    while not (release := releases.state()).ended:
        assert time.monotonic() < until, f"no end of {release}"
        if release.step not in killed:
            _kill(supervisor)
            killed.append(release.step)
        time.sleep(_LOOK_SECONDS)
    sys.stdout.write(f"killed in {', '.join(killed)}; the release is {release.step}\n")
    return killed


def _kill(supervisor: Supervisor) -> None:
    """SIGKILL the deployer; returns once the supervisor has started another."""
    before = int(eventually(lambda: supervisor.pid(DEPLOY), _RESTART_SECONDS, "a deployer runs"))
    os.kill(before, signal.SIGKILL)
    eventually(lambda: supervisor.pid(DEPLOY) not in (0, before), _RESTART_SECONDS, "another one runs")
