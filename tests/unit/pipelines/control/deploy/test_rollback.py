"""Rollbacks of completed releases, and the end of a burst, over two sides in memory."""

from functools import cache

import msgspec
import pytest
from msgspec.structs import replace

from pipelines.control.deploy.backend import BackendError
from pipelines.control.deploy.deployer import health_of
from shared.contracts.release_requests import RequestRefusedError
from shared.contracts.release_steps import PLANS, Kind, Step
from shared.contracts.releases import Release
from tests.harness.fake_world import DARK, LIGHT, NEW, OLD, Bad, World, badly_ended
from tests.harness.release_world import ReleaseWorld, assert_whole


@cache
def _done() -> tuple[Release, bytes, int]:
    """A completed release of NEW, the place afterwards as JSON, and the time; run once for all tests."""
    world = ReleaseWorld()
    world.ask(Kind.DEPLOY, NEW)
    return world.ended(), msgspec.json.encode(world.place.world), world.now_ms


def _released() -> ReleaseWorld:
    """A completed release of NEW."""
    world = ReleaseWorld()
    world.store.release, place, world.now_ms = _done()
    world.place.world = msgspec.json.decode(place, type=World)
    return world


@pytest.mark.parametrize("replay", [False, True])
def test_a_rollback_brings_back_the_former_side_and_puts_the_bad_one_right(replay: bool) -> None:
    world = _released()
    world.turn(30)
    world.ask(Kind.ROLLBACK, replay=replay)
    release = world.ended()
    assert release.step is Step.DONE
    assert_whole(world, version=OLD, side=LIGHT)
    assert any(marked for *_, marked in world.place.world.sides[DARK].processed) == replay
    with pytest.raises(RequestRefusedError, match="nothing to roll back"):
        world.ask(Kind.ROLLBACK)


def test_clients_that_follow_late_are_served_by_the_side_that_a_rollback_leaves() -> None:
    world = _released()
    world.turn(61)
    world.place.world.cached_ms = 60_000
    asked_ms = world.now_ms
    world.ask(Kind.ROLLBACK)
    world.until(lambda release: release.step is Step.LINGER)
    assert world.now_ms - asked_ms <= 10_000
    assert world.place.world.shares == {LIGHT: 100, DARK: 0}
    before = world.place.world.sides[DARK].end
    release = world.ended()
    assert world.place.world.sides[DARK].end - before > 10_000, "clients sent to it for a minute"
    said = next(each.said for each in release.log if each.step is Step.LINGER)
    assert said == "clients had 300 s to leave green"
    assert_whole(world, version=OLD, side=LIGHT)


def test_a_side_that_does_not_run_is_put_right_before_the_last_client_has_left_it() -> None:
    world = _released()
    world.ask(Kind.ROLLBACK)
    world.until(lambda release: release.step is Step.LINGER)
    world.place.world.sides[DARK].failed = True
    lingers = next(each for each in world.ended().log if each.step is Step.LINGER)
    assert lingers.said == "green does not run: waiting for route"
    assert lingers.until_ms - lingers.since_ms <= 65_000
    assert_whole(world, version=OLD, side=LIGHT)


def _refuses_weights(name: str) -> None:
    if name == "set_weights":
        raise BackendError("blue does not answer /readyz with 200")


@pytest.mark.parametrize("crashes", [False, True])
def test_a_rollback_to_a_side_that_takes_nothing_leaves_the_traffic_where_it_is(crashes: bool) -> None:
    world = _released()
    world.turn(30)
    world.ask(Kind.ROLLBACK)
    world.until(lambda release: release.step is Step.ALL)
    if crashes:
        world.place.world.sides[LIGHT].version = Bad.CRASHES
    world.place.before_call = _refuses_weights
    world.until(lambda release: bool(release.back))
    world.place.before_call = lambda _: None
    assert world.ended().step is Step.UNDONE
    found = world.place.world
    assert found.shares == {LIGHT: 0, DARK: 100}
    assert (found.sides[DARK].version, found.sides[DARK].parked) == (NEW, False)
    assert not found.refused
    assert badly_ended(found) == []


@pytest.mark.parametrize("reached", [Step.READY, Step.ALL])
def test_a_rollback_that_failed_may_be_asked_for_again_with_its_replay(reached: Step) -> None:
    world = _released()
    snapshot = world.release.snapshot
    world.turn(30)
    world.ask(Kind.ROLLBACK, replay=True)
    world.until(lambda release: release.step is reached)
    if reached is Step.READY:
        world.place.refusing = {LIGHT}
    else:
        world.place.before_call = _refuses_weights
    world.until(lambda release: bool(release.back))
    world.place.before_call = lambda _: None
    assert world.ended().step is Step.UNDONE
    world.place.refusing = set()
    again = world.ask(Kind.ROLLBACK, replay=True)
    assert snapshot is not None and again.snapshot == snapshot
    assert world.ended().step is Step.DONE
    assert_whole(world, version=OLD, side=LIGHT)
    assert any(marked for *_, marked in world.place.world.sides[DARK].processed)


def test_a_rollback_whose_side_is_never_ready_parks_it_again() -> None:
    world = _released()
    world.ask(Kind.ROLLBACK)
    world.until(lambda release: release.step is Step.READY)
    world.place.world.sides[LIGHT].failed = True
    world.place.before_call = lambda name: setattr(world.place.world.sides[LIGHT], "unlucky", name == "start")
    assert world.ended().step is Step.UNDONE
    assert_whole(world, version=NEW, side=DARK)


def test_a_rollback_does_not_go_to_a_side_that_is_closed() -> None:
    world = _released()
    world.place.world.sides[LIGHT].shut = True
    world.ask(Kind.ROLLBACK)
    assert world.ended().back == "blue is closed to traffic"
    assert_whole(world, version=NEW, side=DARK)


def test_the_end_of_a_burst_looks_at_no_version() -> None:
    world = ReleaseWorld()
    world.ask(Kind.BURST)
    world.ended()
    looks = world.place.obstacle_looks
    world.ask(Kind.BURST_OFF)
    assert world.ended().step is Step.DONE
    assert world.place.obstacle_looks == looks


def test_a_rollback_looks_at_no_version() -> None:
    world = _released()
    looks = world.place.obstacle_looks
    world.ask(Kind.ROLLBACK)
    assert world.ended().step is Step.DONE
    assert world.place.obstacle_looks == looks


def test_a_rollback_does_not_ask_the_bad_side_before_it_has_moved_the_traffic() -> None:
    world = _released()
    world.place.unreachable = {DARK}
    world.ask(Kind.ROLLBACK)
    for _ in range(30):
        world.turn()
    assert (world.release.step, world.place.world.shares) == (Step.LINGER, {LIGHT: 100, DARK: 0})
    world.place.unreachable = set()
    assert world.ended().step is Step.DONE
    assert_whole(world, version=OLD, side=LIGHT)


def test_the_end_of_a_burst_does_not_ask_the_other_side_before_it_has_moved_the_traffic() -> None:
    world = ReleaseWorld()
    world.ask(Kind.BURST)
    world.ended()
    world.place.unreachable = {DARK}
    world.ask(Kind.BURST_OFF)
    for _ in range(5):
        world.turn()
    assert (world.release.step, world.place.world.shares) == (Step.DRAIN, {LIGHT: 100, DARK: 0})


@pytest.mark.parametrize("step", [each for each in PLANS[Kind.ROLLBACK] if each is not Step.PREFLIGHT])
def test_a_rollback_asks_no_side_how_it_is(step: Step) -> None:
    world = _released()
    release = replace(world.ask(Kind.ROLLBACK), step=step)
    world.place.unreachable = {LIGHT, DARK}
    assert all(health_of(world.place, release, side).stable for side in (LIGHT, DARK))


def test_a_rollback_that_an_older_deployer_was_undoing_ends() -> None:
    world = _released()
    world.ask(Kind.ROLLBACK)
    release = world.until(lambda release: release.step is Step.ALL)
    world.place.world.sides[LIGHT].parked = True
    world.store.put(replace(release, step=Step.REWIND, back="all was not over after 600 s"))
    assert world.ended().step is Step.UNDONE
