"""An operator moves traffic during a release: a side with some is neither replaced nor stopped."""

import pytest

from shared.contracts.release_steps import Kind, Step
from tests.harness.fake_world import DARK, LIGHT, NEW, OLD, Bad
from tests.harness.release_world import ReleaseWorld, assert_whole

HALF = {LIGHT: 50, DARK: 50}
BY_HAND = "this release ends, and changes neither its code nor the weights any more"


def _what_to_do(side: str) -> str:
    share = f"{side} has 50 % of the traffic, so it is not stopped"
    return f"{share}: set its weight to 0 (python -m scripts.release.traffic set)"


@pytest.mark.parametrize("kind", [Kind.DEPLOY, Kind.SWITCH, Kind.BURST])
def test_a_side_that_was_given_traffic_is_not_started_with_another_version(kind: Kind) -> None:
    world = ReleaseWorld()
    world.place.world.sides[DARK].parked = False
    world.ask(kind, NEW if kind is Kind.DEPLOY else "")
    world.until(lambda release: release.step is Step.START)
    world.place.set_traffic_by_hand(HALF)
    release = world.ended()
    assert release.step is Step.UNDONE
    assert release.back == f"green was given 50 % of the traffic by hand: {BY_HAND}"
    found = world.place.world
    assert (found.shares, found.sides[DARK].version, found.sides[DARK].parked) == (HALF, OLD, False)


def test_a_rollback_to_a_side_that_was_given_traffic_ends_and_leaves_the_weights() -> None:
    world = ReleaseWorld()
    world.ask(Kind.DEPLOY, NEW)
    world.ended()
    world.place.world.sides[LIGHT].parked = False
    world.ask(Kind.ROLLBACK)
    world.place.set_traffic_by_hand(HALF)
    assert world.ended().back == f"blue was given 50 % of the traffic by hand: {BY_HAND}"
    assert world.place.world.shares == HALF


@pytest.mark.parametrize("begun", [False, True])
def test_a_side_that_was_given_traffic_is_not_parked_and_runs(begun: bool) -> None:
    world = ReleaseWorld()
    world.ask(Kind.DEPLOY, NEW)
    world.until(lambda release: release.step is Step.PARK)
    if begun:
        world.turn()
        assert world.place.world.sides[LIGHT].stopping
    world.place.set_traffic_by_hand(HALF)
    for _ in range(30):
        world.turn()
    assert (world.release.step, world.release.said) == (Step.PARK, _what_to_do(LIGHT))
    assert world.place.readiness(LIGHT).ready
    world.place.set_traffic_by_hand({LIGHT: 0, DARK: 100})
    world.place.world.refused = 0  # traffic that was moved by hand while it was half stopped
    assert world.ended().step is Step.DONE
    assert_whole(world, version=NEW, side=DARK)


@pytest.mark.parametrize("step", [Step.STOP, Step.LAY_DOWN])
def test_a_side_that_was_given_traffic_on_the_way_back_is_not_stopped(step: Step) -> None:
    world = ReleaseWorld()
    world.ask(Kind.DEPLOY, Bad.SLOWER)
    world.until(lambda release: release.step is step)
    world.place.set_traffic_by_hand(HALF)
    for _ in range(30):
        world.turn()
    assert (world.release.step, world.release.said) == (step, _what_to_do(DARK))
    assert not world.place.world.sides[DARK].parked
    world.place.set_traffic_by_hand({LIGHT: 100, DARK: 0})
    assert world.ended().step is Step.UNDONE
    assert_whole(world, version=OLD, side=LIGHT)


@pytest.mark.parametrize(
    ("version", "step"), [(NEW, Step.PARK), (Bad.SLOWER, Step.STOP), (Bad.SLOWER, Step.LAY_DOWN)]
)
def test_clients_may_leave_a_side_that_had_traffic_by_hand_before_it_is_stopped(
    version: str, step: Step
) -> None:
    world = ReleaseWorld()
    world.place.world.cached_ms = 60_000
    world.ask(Kind.DEPLOY, version)
    world.until(lambda release: release.step is step)
    serves = dict(world.place.world.shares)
    world.place.set_traffic_by_hand(HALF)
    for _ in range(90):
        world.turn()
    world.place.set_traffic_by_hand(serves)
    release = world.ended()
    assert next(each.said for each in release.log if each.step is step).endswith("had traffic by hand")
    serving = DARK if version == NEW else LIGHT
    assert_whole(world, version=NEW if version == NEW else OLD, side=serving)


@pytest.mark.parametrize("bad", [Bad.NEVER_READY, Bad.CRASHES])
def test_what_a_version_took_by_hand_before_its_first_share_is_processed_by_the_good_one(bad: Bad) -> None:
    world = ReleaseWorld()
    world.ask(Kind.DEPLOY, bad)
    world.until(lambda release: release.step is Step.READY)
    world.turn()
    world.place.set_traffic_by_hand(HALF)
    release = world.ended()
    assert (release.step, release.by_hand) == (Step.UNDONE, True)
    assert_whole(world, version=OLD, side=LIGHT)


def test_what_a_rollbacks_side_took_by_hand_is_processed_before_it_is_parked_again() -> None:
    world = ReleaseWorld()
    world.ask(Kind.DEPLOY, NEW)
    world.ended()
    world.ask(Kind.ROLLBACK)
    world.until(lambda release: release.step is Step.READY)
    world.place.world.sides[LIGHT].since_ms = world.now_ms + 1_810_000  # not ready for this long
    world.place.set_traffic_by_hand(HALF)
    release = world.ended()
    assert (release.step, release.unfinished) == (Step.UNDONE, "")
    assert_whole(world, version=NEW, side=DARK)
