"""Releases without a deployer's look, or without permission, for longer than expected."""

import pytest

from shared.contracts.release_steps import Kind, Step
from tests.harness.fake_world import DARK, NEW, Bad
from tests.harness.release_world import ReleaseWorld, assert_whole


def test_a_step_that_was_watched_for_long_has_all_of_its_patience_when_it_begins_to_wait() -> None:
    world = ReleaseWorld()
    world.ask(Kind.DEPLOY, NEW)
    world.until(lambda release: release.step is Step.HALF)
    world.permissions.waits = ["blue: autoscaler: scale in is under way"]
    world.turn(500)
    world.permissions.waits = ["blue: maintenance is under way"]
    world.turn(150)
    assert not world.release.back, "it has waited for 150 s"
    world.turn(460)
    assert "half had to wait 610 s: blue: maintenance" in world.release.back


@pytest.mark.parametrize(("step", "following"), [(Step.WATCH, Step.HALF), (Step.WATCH_HALF, Step.ALL)])
def test_a_good_verdict_counts_though_it_comes_after_a_long_absence(step: Step, following: Step) -> None:
    world = ReleaseWorld()
    world.ask(Kind.DEPLOY, NEW)
    world.until(lambda release: release.step is step)
    world.turn(3_600)
    assert world.release.step is following


@pytest.mark.parametrize("finds", ["a wait", "a silent meter"])
@pytest.mark.parametrize(("step", "following"), [(Step.WATCH, Step.HALF), (Step.WATCH_HALF, Step.ALL)])
def test_a_good_verdict_counts_though_the_first_look_after_a_long_absence_cannot_have_it(
    step: Step, following: Step, finds: str
) -> None:
    world = ReleaseWorld()
    world.ask(Kind.DEPLOY, NEW)
    world.until(lambda release: release.step is step)
    world.another()
    if finds == "a wait":
        world.permissions.waits = [f"green: deployer: step forward (deploy 2.0, {step}) is under way"]
    else:
        world.place.silent_meters = {DARK}
    world.turn(3_600)
    for _ in range(17):
        world.turn()
    assert (world.release.step, world.release.back) == (step, "")
    world.permissions.waits, world.place.silent_meters = [], set()
    world.turn()
    assert (world.release.step, world.release.back) == (following, "")


@pytest.mark.parametrize("step", [Step.WATCH, Step.WATCH_HALF])
def test_a_version_of_which_a_watch_learns_nothing_after_a_long_absence_is_undone(step: Step) -> None:
    world = ReleaseWorld()
    world.ask(Kind.DEPLOY, NEW)
    world.until(lambda release: release.step is step)
    world.another()
    world.place.silent_meters = {DARK}
    world.turn(3_600)
    back_ms = world.now_ms
    world.until(lambda release: bool(release.back))
    assert f"{step} was not over after 1,800 s: {step}: observe of green" in world.release.back
    assert 600 <= (world.now_ms - back_ms) / 1_000 <= 620


def test_a_version_that_did_well_is_kept_though_nobody_looked_for_longer_than_it_bakes() -> None:
    world = ReleaseWorld()
    world.ask(Kind.DEPLOY, NEW)
    world.until(lambda release: release.step is Step.BAKE)
    world.turn(3_600)
    assert world.ended().step is Step.DONE


@pytest.mark.parametrize("before", [False, True], ids=["", "as before"])
@pytest.mark.parametrize("finds", ["a wait", "a silent meter"])
def test_the_first_look_after_a_long_absence_does_not_undo_a_version_that_did_well(
    finds: str, before: bool
) -> None:
    world = ReleaseWorld()
    world.ask(Kind.DEPLOY, NEW)
    world.until(lambda release: release.step is Step.BAKE)
    world.turn(60)

    def found(*, now: bool) -> None:
        """The dead deployer's activity counts as alive, or observe is starting."""
        is_wait = finds == "a wait"
        waits = ["green: deployer: step forward (deploy 2.0, bake) is under way"]
        world.permissions.waits = waits if now and is_wait else []
        world.place.silent_meters = {DARK} if now and not is_wait else set()

    if before:  # the machine went down, the deployer last
        found(now=True)
        world.turn()
    world.another()
    found(now=True)
    world.turn(3_600)
    for _ in range(17):
        world.turn()
    assert not world.release.back
    found(now=False)
    assert (world.ended().step, world.release.back) == (Step.DONE, "")
    assert_whole(world, version=NEW, side=DARK)


def test_a_version_of_which_nothing_is_known_after_a_long_absence_is_undone_in_the_end() -> None:
    world = ReleaseWorld()
    world.ask(Kind.DEPLOY, NEW)
    world.until(lambda release: release.step is Step.BAKE)
    world.another()
    world.place.silent_meters = {DARK}
    world.turn(3_600)
    back_ms = world.now_ms
    assert world.ended().step is Step.UNDONE
    assert "bake was not over after 2,400 s: bake: observe of green does not answer" in world.release.back
    given_back_ms = world.place.world.since[-1][0]
    assert 600 <= (given_back_ms - back_ms) / 1_000 <= 620


def test_with_all_the_traffic_a_release_waits_for_others_only_so_long() -> None:
    world = ReleaseWorld()
    world.ask(Kind.DEPLOY, NEW)
    world.until(lambda release: release.step is Step.BAKE)
    world.permissions.waits = ["green: maintenance: maintain is under way"]
    world.until(lambda release: bool(release.back))
    assert "bake was not over after 2,400 s: green: maintenance" in world.release.back


def test_a_release_without_traffic_may_wait_for_longer_than_a_start_may_take() -> None:
    world = ReleaseWorld()
    world.ask(Kind.DEPLOY, NEW)
    world.until(lambda release: release.step is Step.READY)
    world.place.world.sides[DARK].since_ms = world.now_ms + 700_000  # not ready for this long
    world.permissions.waits = ["green: maintenance: maintain is under way"]
    world.turn(650)
    assert (world.release.step, world.release.back) == (Step.READY, "")
    world.permissions.waits = []
    world.turn()
    assert (world.release.step, world.release.back) == (Step.READY, "")
    assert world.ended().step is Step.DONE
    assert_whole(world, version=NEW, side=DARK)


def test_a_version_that_is_not_ready_after_a_wait_has_the_time_of_a_start_and_no_more() -> None:
    world = ReleaseWorld()
    world.ask(Kind.DEPLOY, Bad.NEVER_READY)
    world.until(lambda release: release.step is Step.READY)
    world.permissions.waits = ["green: maintenance: maintain is under way"]
    world.turn(1_900)
    world.permissions.waits = []
    world.turn()
    world.turn(1_799)
    assert (world.release.step, world.release.back) == (Step.READY, "")
    world.turn(2)
    assert "ready was not over after 1,800 s" in world.release.back
