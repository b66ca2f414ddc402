"""An hour without a deployer counts neither against a side nor against a version."""

from collections.abc import Callable

import pytest

from shared.contracts.release_steps import Kind, Step
from shared.contracts.releases import Release
from tests.harness.fake_world import DARK, LIGHT, NEW, OLD, Bad
from tests.harness.release_world import ReleaseWorld, assert_whole

AN_HOUR = 3_600


def _world(kind: Kind, version: str, reached: Callable[[Release], bool]) -> ReleaseWorld:
    """A release that has come this far."""
    world = ReleaseWorld()
    world.ask(kind, version)
    world.until(reached)
    return world


def _at(step: Step) -> Callable[[Release], bool]:
    return lambda release: release.step is step


def _absent(world: ReleaseWorld) -> None:
    """The deployer is dead; another one takes over an hour later and looks."""
    world.another()
    world.turn(AN_HOUR)
    world.turn()


def test_a_former_side_that_was_being_woken_is_started_again() -> None:
    world = _world(Kind.DEPLOY, NEW, _at(Step.PARK))
    world.place.world.sides[LIGHT].parked = True
    world.ask(Kind.ROLLBACK)
    world.until(lambda release: release.woken and release.step is Step.WAKE)
    world.place.world.sides[LIGHT].parked = True  # restarted, only with sides that have traffic
    _absent(world)
    assert (world.ended().step, world.release.unfinished) == (Step.UNDONE, "")
    assert_whole(world, version=OLD, side=LIGHT)


def test_a_former_side_that_is_woken_and_not_ready_yet_gets_no_traffic() -> None:
    world = _world(Kind.DEPLOY, NEW, _at(Step.BAKE))
    world.place.world.sides[LIGHT].since_ms = world.now_ms + 10_000_000  # not ready for this long
    world.ask(Kind.ROLLBACK)
    world.until(_at(Step.WAKE))
    world.turn()
    _absent(world)
    assert world.release.step is Step.WAKE
    assert world.place.world.shares == {LIGHT: 0, DARK: 100}


def test_a_side_that_was_not_ready_while_it_drained_is_not_given_up() -> None:
    world = _world(Kind.DEPLOY, NEW, _at(Step.DRAIN))
    former = world.place.world.sides[LIGHT]
    former.parked, former.retries = True, 4
    world.place.before_call = lambda name: setattr(former, "unlucky", name == "start")
    for _ in range(3):
        world.turn()
    assert world.release.unready_ms
    _absent(world)
    assert (world.release.step, world.release.unfinished) == (Step.DRAIN, "")
    world.place.before_call, former.retries = lambda _: None, 0
    assert (world.ended().step, world.release.unfinished) == (Step.DONE, "")
    assert_whole(world, version=NEW, side=DARK)


def test_a_good_version_that_was_not_ready_while_it_caught_up_is_not_given_up() -> None:
    world = _world(Kind.DEPLOY, Bad.DROPS, _at(Step.CATCH_UP))
    world.place.world.sides[DARK].failed = True
    world.place.world.sides[DARK].retries = 4
    world.turn()
    assert world.release.unready_ms
    world.place.world.sides[DARK].since_ms = world.now_ms + 1_000 * AN_HOUR + 60_000
    _absent(world)
    assert (world.release.step, world.release.unfinished) == (Step.CATCH_UP, "")
    world.place.world.sides[DARK].retries = 0
    assert world.ended().unfinished == ""
    assert_whole(world, version=OLD, side=LIGHT)


def test_a_good_version_that_was_being_started_is_not_given_up() -> None:
    world = _world(Kind.DEPLOY, Bad.DROPS, _at(Step.RESTART))
    tries = iter([True, True])

    def fail(name: str) -> None:
        world.place.world.gone = [OLD] if name == "start" and next(tries, False) else []

    world.place.before_call = fail
    world.turn()
    _absent(world)
    assert (world.release.step, world.release.unfinished) == (Step.RESTART, "")
    assert world.ended().unfinished == ""
    assert_whole(world, version=OLD, side=LIGHT)


def test_a_version_that_was_not_ready_with_all_the_traffic_is_not_undone() -> None:
    world = _world(Kind.DEPLOY, NEW, _at(Step.BAKE))
    world.place.refusing = {DARK}
    world.turn()
    assert world.release.unready_ms
    _absent(world)
    assert (world.release.step, world.release.back) == (Step.BAKE, "")
    world.place.refusing = set()
    assert world.ended().step is Step.DONE
    assert_whole(world, version=NEW, side=DARK)


@pytest.mark.parametrize("step", [Step.CANARY, Step.HALF, Step.ALL])
def test_a_version_whose_share_could_not_be_set_before_is_not_undone(step: Step) -> None:
    world = _world(Kind.DEPLOY, NEW, _at(step))
    _absent(world)
    assert world.release.back == ""
    assert world.ended().step is Step.DONE
    assert_whole(world, version=NEW, side=DARK)


def test_events_lost_before_a_deployer_died_in_the_canary_count() -> None:
    world = _world(Kind.DEPLOY, Bad.DROPS_AT_FIRST, _at(Step.CANARY))
    world.place.set_weights({DARK: 10, LIGHT: 90}, fence=world.release.term)  # and died
    world.permissions.waits = ["the activities of the one that died are not over"]
    world.another()
    for _ in range(120):
        world.turn()
    world.permissions.waits = []
    assert (world.ended().step, world.release.replay) == (Step.UNDONE, True)
    assert "are lost" in world.release.back
    assert_whole(world, version=OLD, side=LIGHT)


@pytest.mark.parametrize("step", [Step.START, Step.READY])
def test_a_rollback_that_was_starting_its_side_goes_on(step: Step) -> None:
    world = _world(Kind.DEPLOY, NEW, lambda release: release.ended)
    world.ask(Kind.ROLLBACK)
    world.until(_at(step))
    world.place.world.sides[LIGHT].parked = True
    _absent(world)
    assert (world.ended().step, world.release.back) == (Step.DONE, "")
    assert_whole(world, version=OLD, side=LIGHT)


def test_a_release_still_waits_for_the_outcome_of_a_versions_events() -> None:
    world = _world(Kind.DEPLOY, Bad.SLOWER_AND_DROPS, _at(Step.SETTLE))
    world.place.silent_meters = {LIGHT, DARK}  # observe is starting
    _absent(world)
    assert world.release.step is Step.SETTLE
    world.place.silent_meters = set()
    assert world.ended().replay
    assert_whole(world, version=OLD, side=LIGHT)


def test_a_side_that_was_stopped_is_still_asked_where_it_stands() -> None:
    world = _world(Kind.DEPLOY, Bad.SLOWER, _at(Step.STOP))
    side = world.place.world.sides[DARK]
    side.spoilt = True  # its brokers do not answer
    world.until(lambda release: bool(release.stopped_ms))
    _absent(world)
    assert world.release.step is Step.STOP
    side.spoilt = False
    assert not world.ended().replay
    assert "goes on from where it was stopped" in next(
        each.said for each in world.release.log if each.step is Step.REWIND
    )
    assert_whole(world, version=OLD, side=LIGHT)
