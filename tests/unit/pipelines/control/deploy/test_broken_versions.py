"""A release that replaces a broken version ends, and reports the events which that version left unread."""

import pytest
from msgspec.structs import replace

from pipelines.control.deploy.backend import BackendError
from pipelines.control.deploy.deployer import health_of
from pipelines.control.deploy.policy import Policy
from shared.contracts.release_steps import Kind, Step
from tests.harness.fake_world import DARK, LIGHT, NEW, OLD, Bad
from tests.harness.release_world import ReleaseWorld, assert_whole


def _drains(policy: Policy | None = None) -> ReleaseWorld:
    """A release has taken all traffic from a version with a `route` that is never ready."""
    world = ReleaseWorld(policy)
    world.place.world.sides[LIGHT].version = Bad.NEVER_READY
    world.ask(Kind.DEPLOY, NEW)
    world.until(lambda release: release.step is Step.DRAIN)
    return world


def _refuses_to_pause(name: str) -> None:
    if name == "pause_canary":
        raise BackendError("the canary of blue does not answer")


@pytest.mark.parametrize("mute", [False, True])
def test_a_release_that_replaces_a_broken_version_ends_and_says_what_is_left(mute: bool) -> None:
    world = _drains()
    if mute:
        world.place.mute, world.place.before_call = {LIGHT}, _refuses_to_pause
    release = world.ended()
    assert release.step is Step.DONE
    left = "never ready was not ready on blue within 1,800 s (route): what blue has not processed stays"
    assert release.unfinished.startswith(left)
    found = world.place.world
    assert (found.shares, found.sides[LIGHT].parked) == ({LIGHT: 0, DARK: 100}, True)
    # The next version started there processes it.
    world.place.mute, world.place.before_call = set(), lambda _: None
    world.ask(Kind.DEPLOY, "3.0")
    assert (world.ended().step, world.release.unfinished) == (Step.DONE, "")
    assert_whole(world, version="3.0", side=LIGHT)


def test_a_side_that_drains_has_all_of_its_time_whenever_it_is_not_ready() -> None:
    world = ReleaseWorld()
    world.place.world.sides[LIGHT].retries = 4
    world.ask(Kind.DEPLOY, NEW)
    world.until(lambda release: release.step is Step.DRAIN)
    for _ in range(3):
        world.turn(3_600)
        world.place.world.sides[LIGHT].since_ms = world.now_ms + 590_000
        world.turn()
        world.turn(580)
        assert (world.release.step, world.release.unfinished) == (Step.DRAIN, "")
        assert world.release.said == "blue is not ready: waiting for route"
        world.turn(20)
        assert world.release.unready_ms == 0
        assert world.release.said == "left: retry: 4 records; 4 events wait for their next try"
    world.place.world.sides[LIGHT].retries = 0
    assert world.ended().unfinished == ""
    assert_whole(world, version=NEW, side=DARK)


def test_a_broken_side_is_not_parked_while_clients_may_send_to_it() -> None:
    world = _drains(Policy(ready_seconds=20, linger_seconds=300))
    world.place.world.cached_ms = 290_000
    assert world.ended().unfinished
    assert not world.place.world.refused


def test_a_broken_side_that_is_given_up_is_parked_though_its_meter_does_not_say_that_all_is_settled() -> None:
    world = _drains()
    release = world.until(lambda release: release.step is Step.PARK)
    world.place.unreachable = {LIGHT}
    assert health_of(world.place, release, LIGHT).stable
    assert health_of(world.place, release, DARK).stable


def test_a_broken_side_that_is_given_up_and_was_given_traffic_is_not_parked() -> None:
    world = _drains()
    world.until(lambda release: release.step is Step.PARK)
    world.place.set_traffic_by_hand({LIGHT: 50, DARK: 50})
    for _ in range(30):
        world.turn()
    assert "blue has 50 % of the traffic, so it is not stopped" in world.release.said
    assert not world.place.world.sides[LIGHT].parked
    # Once the broken version works after all, everything is put right.
    world.place.set_traffic_by_hand({LIGHT: 0, DARK: 100})
    world.place.world.sides[LIGHT].version = OLD
    world.store.put(replace(world.release, former_version=OLD))
    assert (world.ended().step, world.release.unfinished) == (Step.DONE, "")
    assert_whole(world, version=NEW, side=DARK)


def test_a_release_that_is_taken_back_while_its_broken_former_side_is_parked_says_nothing_of_that() -> None:
    world = _drains()
    world.until(lambda release: release.step is Step.PARK)
    world.ask(Kind.ROLLBACK)
    world.until(lambda release: release.step is Step.GIVE_BACK)
    assert world.release.unfinished == ""
