"""A restart of the place starts only sides with traffic; the release under way starts the rest."""

import pytest

from shared.contracts.release_steps import Kind, Step
from tests.harness.fake_world import DARK, LIGHT, NEW, OLD
from tests.harness.release_world import SHORT, ReleaseWorld, assert_whole, steps


def _down(kind: Kind, step: Step) -> ReleaseWorld:
    """A release to the dark side, which was parked when the step began."""
    world = ReleaseWorld(SHORT)
    world.ask(kind, NEW if kind is Kind.DEPLOY else "")
    world.until(lambda release: release.step is step)
    world.place.world.sides[DARK].parked = True
    world.another()
    return world


@pytest.mark.parametrize("step", [Step.PROVE, Step.LOAD_TEST, Step.CANARY])
def test_a_version_is_started_again(step: Step) -> None:
    world = _down(Kind.DEPLOY, step)
    release = world.ended()
    assert (release.step, release.back) == (Step.DONE, "")
    assert_whole(world, version=NEW, side=DARK)
    said = [each.said for each in release.log if each.step is step]
    if step is not Step.CANARY:
        assert said[0] == "green does not run any more"
        assert steps(release).count(Step.READY) == 2
        assert said[-1] != said[0]


def test_a_version_that_is_started_again_gets_its_first_traffic_when_it_is_ready() -> None:
    world = _down(Kind.DEPLOY, Step.CANARY)
    for _ in range(3):
        world.turn()
    assert (world.release.step, world.release.said) == (
        Step.CANARY, "green is not ready: waiting for route",
    )  # fmt: skip
    assert world.place.world.shares == {LIGHT: 100, DARK: 0}


def test_a_version_that_is_started_again_has_the_time_of_a_start() -> None:
    world = _down(Kind.DEPLOY, Step.PROVE)
    world.until(lambda release: release.step is Step.READY)
    world.place.world.sides[DARK].since_ms = world.now_ms + 1_700_000  # not ready for this long
    assert (world.ended().step, world.release.back) == (Step.DONE, "")
    assert_whole(world, version=NEW, side=DARK)


@pytest.mark.parametrize("kind", [Kind.SWITCH, Kind.BURST])
def test_a_side_is_started_again_before_a_switch_or_a_burst_gives_it_traffic(kind: Kind) -> None:
    world = _down(kind, Step.CANARY if kind is Kind.SWITCH else Step.BOTH)
    assert (world.ended().step, world.release.back) == (Step.DONE, "")
    if kind is Kind.SWITCH:
        assert_whole(world, version=OLD, side=DARK)
    else:
        assert world.place.world.shares == {LIGHT: 50, DARK: 50}
        assert world.place.readiness(DARK).ready


def test_a_rollbacks_side_is_started_again_before_it_takes_the_traffic() -> None:
    world = ReleaseWorld(SHORT)
    world.ask(Kind.DEPLOY, NEW)
    world.ended()
    world.ask(Kind.ROLLBACK)
    world.until(lambda release: release.step is Step.ALL)
    world.place.world.sides[LIGHT].parked = True
    assert (world.ended().step, world.release.back) == (Step.DONE, "")
    assert_whole(world, version=OLD, side=LIGHT)
