"""A side is drained and parked even if its own or the serving side's observe is silent."""

from collections.abc import Sequence

import pytest

from pipelines.control.deploy.deployer import health_of
from pipelines.control.deploy.policy import LOOKING, action_of, sides_of
from shared.contracts.diamond.permission import reasons_to_wait
from shared.contracts.release_steps import Kind, Step
from shared.contracts.releases import Release
from tests.harness.fake_place import FakePlace
from tests.harness.fake_world import DARK, LIGHT, NEW
from tests.harness.release_world import FakePermissions, ReleaseWorld, assert_whole, steps

READY_SECONDS = 1_800


class _AsksHealth(FakePermissions):
    """A step begins once the sides are stable enough for it, according to the registers."""

    def __init__(self, place: FakePlace) -> None:
        super().__init__()
        self._place, self._granted = place, (0, Step.PREFLIGHT)

    def take(self, release: Release) -> Sequence[str]:
        at = (release.number, release.step)
        if at == self._granted:
            return []
        found = list(super().take(release))
        for side in () if release.step in LOOKING else sides_of(release):
            health = health_of(self._place, release, side)
            found += [f"{side}: {each}" for each in reasons_to_wait(action_of(release), (), health)]
        if not found:
            self._granted = at
        return found


def _asking() -> ReleaseWorld:
    world = ReleaseWorld()
    _taken_over(world)
    return world


def _taken_over(world: ReleaseWorld) -> None:
    world.permissions = _AsksHealth(world.place)
    world.another()


def _drains(kind: Kind) -> tuple[ReleaseWorld, str]:
    """A release that drains a side, and that side."""
    world = _asking()
    if kind is Kind.BURST_OFF:
        world.ask(Kind.BURST)
        world.ended()
    world.ask(kind, NEW if kind is Kind.DEPLOY else "")
    return world, world.until(lambda release: release.step is Step.DRAIN).former


def _parks() -> ReleaseWorld:
    world, _ = _drains(Kind.DEPLOY)
    world.until(lambda release: release.step is Step.PARK)
    return world


@pytest.mark.parametrize("judges", [False, True], ids=["no observe", "judges nothing"])
@pytest.mark.parametrize("kind", [Kind.DEPLOY, Kind.BURST_OFF])
def test_a_side_of_which_nothing_is_known_is_given_up_after_the_time_of_a_start(
    kind: Kind, judges: bool
) -> None:
    world, former = _drains(kind)
    began_ms = world.now_ms
    (world.place.unjudged if judges else world.place.without_observe).add(former)
    release = world.ended()
    assert release.step is Step.DONE
    assert f"was not ready on {former} within 1,800 s" in release.unfinished
    assert "observe" in release.unfinished
    assert world.place.world.sides[former].parked
    assert READY_SECONDS <= (world.now_ms - began_ms) / 1_000 <= READY_SECONDS + 400
    world.place.unjudged, world.place.without_observe = set(), set()
    world.ask(Kind.DEPLOY, "3.0")
    assert (world.ended().step, world.release.unfinished) == (Step.DONE, "")


def test_a_side_with_nothing_left_is_parked_at_once_though_a_program_of_it_does_not_run() -> None:
    world, former = _drains(Kind.DEPLOY)
    began_ms = world.now_ms
    world.place.refusing.add(former)
    assert (world.ended().step, world.release.unfinished) == (Step.DONE, "")
    assert (world.now_ms - began_ms) / 1_000 < READY_SECONDS / 2


def test_a_side_with_retries_is_not_given_up_because_its_observe_judges_nothing() -> None:
    world, former = _drains(Kind.DEPLOY)
    world.place.world.sides[former].retries = 4
    world.place.unjudged = {former}
    for _ in range(4):
        world.turn(READY_SECONDS)
    assert (world.release.step, world.release.unfinished) == (Step.DRAIN, "")
    world.place.world.sides[former].retries, world.place.unjudged = 0, set()
    assert (world.ended().step, world.release.unfinished) == (Step.DONE, "")
    assert_whole(world, version=NEW, side=DARK)


@pytest.mark.parametrize("judges", [False, True], ids=["no observe", "judges nothing"])
def test_a_side_that_falls_silent_before_it_is_parked_drains_again_until_it_is_known(judges: bool) -> None:
    world = _parks()
    silent = world.place.unjudged if judges else world.place.without_observe
    silent.add(LIGHT)
    world.turn()
    assert world.release.step is Step.DRAIN
    assert world.release.log[-1].said == "blue: the side is not stable: observe does not answer"
    for _ in range(100):
        world.turn()
    assert world.release.step is Step.DRAIN
    assert world.release.said.startswith("blue is not ready: waiting for observe")
    silent.clear()
    assert (world.ended().step, world.release.unfinished) == (Step.DONE, "")
    assert_whole(world, version=NEW, side=DARK)


def test_a_side_that_was_half_stopped_when_the_deployer_died_is_parked_by_the_next_one() -> None:
    world = _parks()
    world.turn()
    assert world.place.world.sides[LIGHT].stopping
    _taken_over(world)
    assert (world.ended().step, world.release.unfinished) == (Step.DONE, "")
    assert_whole(world, version=NEW, side=DARK)


def test_a_silent_side_is_not_started_while_its_parking_waits_for_others() -> None:
    world = _parks()
    world.place.without_observe = {LIGHT}
    world.permissions.waits = ["blue: maintenance: maintain is under way"]
    for _ in range(5):
        world.turn(600)
    assert world.release.step is Step.PARK
    world.permissions.waits = []
    assert Step.DRAIN in steps(world.release)
    world.turn()
    assert steps(world.release)[-1] is Step.PARK, "it drains again"


@pytest.mark.parametrize("unreachable", [False, True])
def test_a_side_is_parked_though_nothing_is_known_of_the_one_that_serves(unreachable: bool) -> None:
    world = _parks()
    (world.place.unreachable if unreachable else world.place.without_observe).add(DARK)
    release = world.until(lambda found: found.ended)
    assert (release.step, release.unfinished) == (Step.DONE, "")
    assert steps(release) == list(release.plan)
    world.place.unreachable = set()
    assert_whole(world, version=NEW, side=DARK)
