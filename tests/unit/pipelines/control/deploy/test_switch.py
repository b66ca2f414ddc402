"""A switch gives a cold side its traffic share by share, or at once if the side that serves does badly."""

import pytest

from pipelines.control.deploy.policy import WARMING, Policy
from shared.contracts.release_steps import Kind, Step
from shared.contracts.releases import Release
from tests.harness.fake_world import DARK, LIGHT, OLD
from tests.harness.release_world import ReleaseWorld, assert_whole, steps

SECONDS = Policy().switch_seconds


def _seconds_of_warming(release: Release) -> list[float]:
    return [(each.until_ms - each.since_ms) / 1_000 for each in release.log if each.step in WARMING]


def test_a_switch_moves_the_serving_version_to_the_other_side_share_by_share() -> None:
    world = ReleaseWorld()
    world.ask(Kind.SWITCH)
    release = world.ended()
    assert (release.step, steps(release)) == (Step.DONE, list(release.plan))
    assert [weights[DARK] for _, weights in world.place.world.since] == [10, 50, 100]
    assert _seconds_of_warming(release) == [SECONDS, SECONDS]
    assert_whole(world, version=OLD, side=DARK)


def test_without_time_to_warm_up_a_switch_moves_all_traffic_within_seconds() -> None:
    world = ReleaseWorld(Policy(switch_seconds=0))
    world.ask(Kind.SWITCH)
    assert max(_seconds_of_warming(world.ended())) <= 1
    assert_whole(world, version=OLD, side=DARK)


@pytest.mark.parametrize(("silent", "seconds"), [(False, 1), (True, 62)])
def test_a_switch_leaves_a_side_that_does_badly_at_once(silent: bool, seconds: int) -> None:
    world = ReleaseWorld()
    world.ask(Kind.SWITCH)
    world.until(lambda release: release.step is Step.WARM)
    world.place.fail_stably(LIGHT, stable=False)
    world.place.unjudged = {LIGHT} if silent else set()
    release = world.until(lambda release: release.step is Step.BAKE)
    assert seconds - 1 <= sum(_seconds_of_warming(release)) <= seconds + 1
    words = "blue is not stable, so traffic leaves it at once"
    assert all(words in each.said for each in release.log if each.step in WARMING)
    assert world.place.world.shares == {LIGHT: 0, DARK: 100}


@pytest.mark.parametrize("step", [Step.WARM, Step.WARM_HALF])
def test_a_restart_of_the_observe_of_the_side_that_serves_does_not_make_a_switch_hurry(step: Step) -> None:
    world = ReleaseWorld()
    world.ask(Kind.SWITCH)
    world.until(lambda release: release.step is step)
    world.place.unjudged = {LIGHT}
    for _ in range(50):
        world.turn()
    world.place.unjudged = set()
    assert _seconds_of_warming(world.until(lambda release: release.step is Step.BAKE)) == [SECONDS, SECONDS]


def test_a_switch_does_not_go_back_to_a_side_that_did_badly_for_late_events() -> None:
    world = ReleaseWorld()
    world.place.meter.late_when_cold = (0.6, 0.6, 0.4)
    world.ask(Kind.SWITCH)
    world.until(lambda release: release.step is Step.WARM)
    world.place.fail_stably(LIGHT, stable=False)
    world.until(lambda release: release.step is Step.DRAIN or bool(release.back))
    assert (world.release.back, world.place.world.shares) == ("", {LIGHT: 0, DARK: 100})


def test_an_alarm_about_what_has_passed_does_not_make_a_switch_hurry() -> None:
    world = ReleaseWorld()
    world.place.fail_stably(LIGHT, stable=False)  # its alarm stays open
    world.turn(600)
    world.ask(Kind.SWITCH)
    assert _seconds_of_warming(world.until(lambda release: release.step is Step.BAKE)) == [SECONDS, SECONDS]


def test_a_switch_does_not_need_the_meter_of_the_side_that_it_leaves() -> None:
    world = ReleaseWorld()
    world.ask(Kind.SWITCH)
    world.until(lambda release: release.step is Step.WARM)
    world.place.silent_meters = {LIGHT}
    release = world.until(lambda release: release.step is Step.BAKE)
    assert _seconds_of_warming(release) == [SECONDS, SECONDS]


@pytest.mark.parametrize("late", [(0.12,), (0.29,), (0.29, 0.1)])
def test_a_switch_is_not_undone_because_the_side_still_compiles_at_first(late: tuple[float, ...]) -> None:
    world = ReleaseWorld()
    world.place.meter.late_when_cold = late
    world.ask(Kind.SWITCH)
    assert (world.ended().step, world.release.back) == (Step.DONE, "")
    assert_whole(world, version=OLD, side=DARK)


@pytest.mark.parametrize("late", [(0.6,), (0.29, 0.2), (0.12,) * 5])
def test_a_switch_to_a_side_that_stays_late_is_undone(late: tuple[float, ...]) -> None:
    world = ReleaseWorld()
    world.place.meter.late_when_cold = late
    world.ask(Kind.SWITCH)
    assert world.ended().step is Step.UNDONE
    assert "are late, where 5 % are allowed" in world.release.back
    assert_whole(world, version=OLD, side=LIGHT)
