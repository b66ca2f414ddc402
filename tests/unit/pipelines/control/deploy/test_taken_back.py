"""The side that served gets its traffic back: at any step, even parked or restarted."""

import pytest
from msgspec.structs import replace

from pipelines.control.deploy.deployer import health_of
from pipelines.control.deploy.policy import Policy
from shared.contracts.release_steps import BACKWARD, PLANS, Kind, Step
from tests.harness.fake_world import DARK, LIGHT, NEW, OLD, Bad
from tests.harness.release_world import ReleaseWorld, assert_whole


def test_a_good_version_whose_start_failed_on_the_way_back_is_started_again() -> None:
    world = ReleaseWorld()
    world.ask(Kind.DEPLOY, Bad.DROPS)
    world.until(lambda release: release.step is Step.RESTART)
    world.place.world.sides[DARK].unlucky = True
    assert world.ended().step is Step.UNDONE
    assert_whole(world, version=OLD, side=LIGHT)


@pytest.mark.parametrize("step", PLANS[Kind.DEPLOY])
def test_an_operator_takes_a_release_back_at_any_step(step: Step) -> None:
    world = ReleaseWorld(Policy(rating_days=1))
    world.ask(Kind.DEPLOY, NEW)
    world.until(lambda release: release.step is step)
    asked_ms = world.now_ms
    world.ask(Kind.ROLLBACK)
    release = world.ended()
    assert (release.step, release.back) == (Step.UNDONE, "ann asked for it")
    assert_whole(world, version=OLD, side=LIGHT)
    changes = [at_ms for at_ms, _ in world.place.world.since if at_ms > asked_ms]
    if changes and step is not Step.PARK:  # a side that may be parked is started first
        assert changes[0] - asked_ms <= 10_000


@pytest.mark.parametrize("step", [Step.BAKE, Step.DRAIN])
def test_a_release_is_undone_though_the_place_was_started_again_without_the_side_that_served(
    step: Step,
) -> None:
    world = ReleaseWorld()
    world.ask(Kind.DEPLOY, NEW)
    world.until(lambda release: release.step is step)
    world.place.world.sides[LIGHT].parked = True
    world.ask(Kind.ROLLBACK)
    assert world.ended().step is Step.UNDONE
    assert_whole(world, version=OLD, side=LIGHT)


@pytest.mark.parametrize("step", BACKWARD)
def test_the_way_back_asks_no_side_how_it_is(step: Step) -> None:
    world = ReleaseWorld()
    world.ask(Kind.DEPLOY, Bad.DROPS)
    world.until(lambda release: bool(release.back))
    world.place.unreachable = {LIGHT, DARK}
    release = replace(world.release, step=step)
    assert all(health_of(world.place, release, side).stable for side in (LIGHT, DARK))


def test_a_side_that_lacks_something_is_started_again_and_gets_its_traffic_back_when_it_is_ready() -> None:
    world = ReleaseWorld()
    world.ask(Kind.DEPLOY, NEW)
    world.until(lambda release: release.step is Step.BAKE)
    world.place.world.sides[LIGHT].failed = True  # one of its programs is not ready
    asked_ms = world.now_ms
    world.ask(Kind.ROLLBACK)
    world.until(lambda release: release.step is Step.SETTLE)
    assert world.place.world.shares == {LIGHT: 100, DARK: 0}
    assert world.now_ms - asked_ms <= 10_000


def test_a_side_that_runs_and_is_not_ready_gets_no_traffic_before_its_start_had_its_time() -> None:
    world = ReleaseWorld()
    world.ask(Kind.DEPLOY, NEW)
    world.until(lambda release: release.step is Step.BAKE)
    serves = dict(world.place.world.shares)
    world.place.world.sides[LIGHT].since_ms = world.now_ms + 400_000  # not ready for this long
    world.ask(Kind.ROLLBACK)
    world.until(lambda release: release.step is Step.WAKE)
    world.turn(300)
    assert (world.release.step, world.release.said) == (Step.WAKE, "waiting for route")
    assert world.place.world.shares == serves
    release = world.ended()
    assert {each.step: each.said for each in release.log}[Step.WAKE] == "every program is ready"
    assert_whole(world, version=OLD, side=LIGHT)


def test_a_side_that_runs_and_is_never_ready_gets_its_traffic_back_in_the_end() -> None:
    world = ReleaseWorld()
    world.ask(Kind.DEPLOY, NEW)
    world.until(lambda release: release.step is Step.BAKE)
    world.place.world.sides[LIGHT].since_ms = world.now_ms + 10_000_000
    asked_ms = world.now_ms
    world.ask(Kind.ROLLBACK)
    release = world.until(lambda release: release.step is Step.SETTLE)
    assert {each.step: each.said for each in release.log}[Step.WAKE] == "blue runs"
    assert world.place.world.shares == {LIGHT: 100, DARK: 0}
    assert 1_800_000 < world.now_ms - asked_ms < 1_820_000


@pytest.mark.parametrize("comes", [0.0, 7.0])
def test_a_side_that_is_being_parked_is_started_and_waited_for_before_it_gets_its_traffic_back(
    comes: float,
) -> None:
    world = ReleaseWorld()
    world.ask(Kind.DEPLOY, NEW)
    world.until(lambda release: release.step is Step.PARK)
    world.turn()
    former = world.place.world.sides[LIGHT]
    assert (former.stopping, world.place.deployed(LIGHT).parked) == (True, False)
    former.end += comes
    world.until(lambda release: (release.step is Step.DRAIN) == bool(comes))
    assert former.stopping
    world.ask(Kind.ROLLBACK)
    release = world.until(lambda release: release.step is Step.GIVE_BACK)
    assert (release.log[-1].step, release.log[-1].said) == (Step.WAKE, "every program is ready")
    assert world.place.readiness(LIGHT).ready
    assert world.ended().step is Step.UNDONE
    assert_whole(world, version=OLD, side=LIGHT)
