"""A real deployer among other actors on both sides: two never act on one side, whichever process dies."""

from typing import Literal

import pytest

from shared.contracts.diamond.activities import Action
from shared.contracts.release_steps import Kind, Step
from shared.dynamodb.document_table import DocumentTable
from tests.contract.deploy.release_diamond import ReleaseDiamond
from tests.contract.dynamodb.actors import TABLE, run_histories
from tests.harness.fake_world import DARK


def run(url: str | None, examples: int) -> None:
    DocumentTable(TABLE, url).ensure()
    ReleaseDiamond.url = url
    run_histories(ReleaseDiamond, examples)


def _at(step: Step, url: str) -> ReleaseDiamond:
    """A release that was requested and has reached a step."""
    DocumentTable(TABLE, url).ensure()
    ReleaseDiamond.url = url
    found = ReleaseDiamond()
    found.ask(Kind.DEPLOY, "2.0")
    while (release := found.store.current()) is not None and release.step is not step:
        assert not release.ended, release
        found.time += 2.0
        found.beat_deployer()
        found.turn(1)
    return found


def test_one_that_takes_over_while_a_side_is_maintained_changes_nothing_there(dynamodb_local: str) -> None:
    found = _at(Step.READY, dynamodb_local)
    found.crash_deployer()
    found.wait(12.0)
    found.begin(DARK, Action.MAINTAIN)
    found.turn(4)
    release = found.store.current()
    assert release is not None
    assert (release.step, [each.partition(" ")[0] for each in release.waits]) == (Step.READY, [f"{DARK}:"])
    assert "maintain" in release.waits[0]
    found.teardown()


QUICK = {("place", Step.START), ("table", Step.READY), ("table", Step.PROVE), ("place", Step.CANARY)}
"""Each step, and each kind of call; the other pairs run in the proof."""


@pytest.mark.parametrize(
    ("what", "step"),
    [
        pytest.param(what, step, marks=() if (what, step) in QUICK else pytest.mark.proof)
        for what in ("place", "table")
        for step in (Step.START, Step.READY, Step.PROVE, Step.CANARY)
    ],
)
def test_a_deployer_changes_nothing_once_its_lease_may_be_over_in_the_midst_of_a_turn(
    dynamodb_local: str, what: Literal["place", "table"], step: Step
) -> None:
    for calls in range(1, 5):
        found = _at(step, dynamodb_local)
        found.be_slow(what, calls, 12.0, DARK, Action.MAINTAIN)
        found.turn(3)
        found.beat_deployer()
        found.turn(2)


def test_a_release_among_rivals_has_never_two_hands_on_a_side_and_ends(dynamodb_local: str) -> None:
    run(dynamodb_local, 2)


@pytest.mark.proof
@pytest.mark.timeout(1_800)
def test_a_release_among_rivals_in_very_many_histories(dynamodb_local: str) -> None:
    run(dynamodb_local, 300)
