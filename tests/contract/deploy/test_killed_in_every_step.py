"""SIGKILL of the deployer in each step of a release: both sides end whole, and it reports which one serves.

In `tests/unit/pipelines/control/deploy/test_kills.py` it dies at each single call and write, by exceptions.
"""

import re
import subprocess
from dataclasses import dataclass
from typing import Final

import pytest

from shared.contracts.release_steps import BACKWARD, ENDS, PLANS, Kind, Step
from tests.contract.deploy.deployers import SECONDS, Deployers
from tests.harness.deploy_process import DeployProcess
from tests.harness.fake_world import DARK, LIGHT, NEW, OLD, Bad
from tests.harness.waiting import eventually

LEASE: Final = 0.4
"""Seconds. Only one deployer lives at a time: a busy machine that holds it up loses nothing to another."""

_DEPLOY: Final = PLANS[Kind.DEPLOY]
_BEFORE_WATCH: Final = _DEPLOY[: _DEPLOY.index(Step.WATCH)]
# The former side always kept some traffic, so it need not be woken.
_BAD: Final = (*_BEFORE_WATCH, Step.WATCH, *(step for step in BACKWARD if step is not Step.WAKE))


@dataclass(frozen=True, kw_only=True)
class Run:
    """A release, and its expected end although its deployer dies in each step."""

    kind: Kind
    command: str
    """Command of `hifi` that follows the release to its end."""

    steps: tuple[Step, ...]
    """All steps of the release."""

    end: Step = Step.DONE
    version: str = OLD
    serving: tuple[str, ...] = (LIGHT,)
    """The sides that serve the version at the end."""

    replay: bool = False
    before: Kind | None = None
    """A release that is completed before it."""

    undone_at: Step | None = None
    """The step in which the deployer is killed before an operator requests the rollback."""

    lived: tuple[Step, ...] = ()
    """Steps in which this run does not kill it, as another run does."""


RUNS: Final = {
    "good": Run(kind=Kind.DEPLOY, command=f"deploy {NEW}", steps=_DEPLOY, version=NEW, serving=(DARK,)),
    "bad once it is watched": Run(
        kind=Kind.DEPLOY,
        command=f"deploy {Bad.DROPS}",
        steps=_BAD,
        end=Step.UNDONE,
        replay=True,
        lived=_BEFORE_WATCH,
    ),
    "bad": Run(kind=Kind.DEPLOY, command=f"deploy {Bad.DROPS}", steps=_BAD, end=Step.UNDONE, replay=True),
    "taken back in its last step": Run(
        kind=Kind.DEPLOY,
        command=f"deploy {NEW}",
        steps=(*_DEPLOY, *BACKWARD),
        end=Step.UNDONE,
        undone_at=_DEPLOY[-1],
    ),
    "switch": Run(kind=Kind.SWITCH, command="switch", steps=PLANS[Kind.SWITCH], serving=(DARK,)),
    "burst on": Run(kind=Kind.BURST, command="burst on", steps=PLANS[Kind.BURST], serving=(LIGHT, DARK)),
    "burst off": Run(
        kind=Kind.BURST_OFF, command="burst off", steps=PLANS[Kind.BURST_OFF], before=Kind.BURST
    ),
    "rollback": Run(kind=Kind.ROLLBACK, command="rollback", steps=PLANS[Kind.ROLLBACK], before=Kind.DEPLOY),
    "rollback with replay": Run(
        kind=Kind.ROLLBACK,
        command="rollback --replay",
        steps=PLANS[Kind.ROLLBACK],
        before=Kind.DEPLOY,
        replay=True,
    ),
}

QUICK: Final = ("good", "bad once it is watched")
"""The others run in the proof."""


@pytest.mark.parametrize(
    "run",
    [
        pytest.param(run, id=name, marks=() if name in QUICK else pytest.mark.proof)
        for name, run in RUNS.items()
    ],
)
def test_killed_in_every_step_a_release_ends_whole_and_says_which_version_serves(
    deployers: Deployers, run: Run
) -> None:
    if run.before is not None:
        _done_before(deployers, run.before)
    killed, said = _killed(deployers, run)
    assert killed == tuple(step for step in run.steps if step not in run.lived)
    release = deployers.current()
    assert (release.kind, release.step, release.unfinished) == (run.kind, run.end, ""), said
    assert release.replay == run.replay
    assert release.term == len(deployers.processes), "each of them took over"
    deployers.whole(run.version, *run.serving)
    _assert_sides_are_shown(deployers, run)


def test_each_kind_of_release_and_each_step_is_in_one_of_the_runs() -> None:
    assert {run.kind for run in RUNS.values()} == set(Kind)
    assert {step for run in RUNS.values() for step in run.steps} == set(Step) - ENDS


def _done_before(deployers: Deployers, kind: Kind) -> None:
    """Complete a release with a deployer that is then stopped cleanly."""
    process = deployers.start()
    deployers.ask(kind, NEW if kind is Kind.DEPLOY else "")
    release = deployers.until(lambda each: each.ended, f"{kind} ends")
    assert release.step is Step.DONE
    process.stop()


def _killed(deployers: Deployers, run: Run) -> tuple[tuple[Step, ...], str]:
    """Kill the deployer in each step until the command ends; returns these steps and the command's output."""
    killed: list[Step] = []
    process = deployers.start(lease=LEASE, passed=run.lived)
    command = deployers.begun(*run.command.split())
    while (step := _next_step(process, command, killed)) is not None:
        process.kill()
        killed.append(step)
        if step is run.undone_at:
            deployers.ask(Kind.ROLLBACK)
        process = deployers.start(lease=LEASE, passed=[*run.lived, *killed])
    return tuple(killed), _end_of(command, run)


def _next_step(process: DeployProcess, command: "subprocess.Popen[str]", killed: list[Step]) -> Step | None:
    """The step in which the deployer is held; None once the command has ended."""

    def known() -> bool:
        return process.held() is not None or command.poll() is not None

    eventually(known, SECONDS, f"held in a step after {killed}, or the end", 0.02)
    return process.held()


def _end_of(command: "subprocess.Popen[str]", run: Run) -> str:
    """Check that the command's last words name the serving version and its side."""
    out, error = command.communicate(timeout=SECONDS)
    said = out + error
    assert command.returncode == int(run.end is Step.UNDONE), said
    ended = "done in .*: {} on {}" if run.end is Step.DONE else "undone after .*; {} serves on {}"
    assert re.search(ended.format(re.escape(run.version), run.serving[-1]), said), said
    return said


def _assert_sides_are_shown(deployers: Deployers, run: Run) -> None:
    """Check that `hifi sides` shows the serving sides, and how the release ended."""
    share = 100 // len(run.serving)
    rows = [rf"{side} +{re.escape(run.version)} +{share} % +stable" for side in run.serving]
    rows.append(rf"{run.kind} \S+ +\S+ .+ {run.end}")

    def shown() -> bool:
        text = deployers.hifi("sides", "--releases", "1").stdout
        return all(re.search(row, text) for row in rows)

    eventually(shown, SECONDS, f"`hifi sides` shows {rows}")
