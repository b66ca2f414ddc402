"""A version finds customers' events left on its side: what it does to them is repaired."""

import pytest

from shared.contracts.release_steps import Kind, Step
from tests.harness.fake_world import DARK, LIGHT, NEW, OLD, Bad
from tests.harness.release_world import ReleaseWorld, assert_whole, steps


@pytest.fixture
def world() -> ReleaseWorld:
    """The dark side was parked with a bad version's losses: no version could be started there."""
    world = ReleaseWorld()
    world.ask(Kind.DEPLOY, Bad.DROPS)
    world.until(lambda release: release.step is Step.STOP)
    world.place.world.gone = [OLD]
    assert world.ended().unfinished
    world.place.world.gone = []
    return world


def test_the_snapshot_says_that_something_is_left(world: ReleaseWorld) -> None:
    world.ask(Kind.DEPLOY, NEW)
    release = world.ended()
    assert release.leftovers
    said = {each.step: each.said for each in release.log}[Step.SNAPSHOT]
    assert "; left there: ingest: " in said
    assert_whole(world, version=NEW, side=DARK)


@pytest.mark.parametrize("bad", [Bad.CRASHES, Bad.NEVER_READY, Bad.GARBAGE])
def test_the_good_version_processes_what_a_version_without_traffic_found(
    world: ReleaseWorld, bad: Bad
) -> None:
    world.ask(Kind.DEPLOY, bad)
    release = world.ended()
    assert (release.step, release.carried, release.unfinished) == (Step.UNDONE, False, "")
    assert {Step.SETTLE, Step.CATCH_UP} <= set(steps(release))
    assert_whole(world, version=OLD, side=LIGHT)


def test_an_operator_takes_back_a_release_that_found_something(world: ReleaseWorld) -> None:
    world.ask(Kind.DEPLOY, NEW)
    world.until(lambda release: release.step is Step.PROVE)
    world.ask(Kind.ROLLBACK)
    assert world.ended().step is Step.UNDONE
    assert_whole(world, version=OLD, side=LIGHT)


def test_a_release_that_found_something_may_wait_for_any_time_before_it_has_traffic(
    world: ReleaseWorld,
) -> None:
    world.ask(Kind.DEPLOY, NEW)
    world.until(lambda release: release.step is Step.PROVE)
    world.permissions.waits = ["green: maintenance: maintain is under way"]
    for _ in range(5):
        world.turn(3_600)
    assert (world.release.step, world.release.back) == (Step.PROVE, "")


def test_events_that_wait_for_their_next_try_are_left(world: ReleaseWorld) -> None:
    world.ask(Kind.DEPLOY, NEW)
    world.ended()
    world.place.world.sides[LIGHT].retries = 4
    world.ask(Kind.DEPLOY, "3.0")
    release = world.until(lambda release: release.step is Step.PROVE)
    assert release.leftovers
    said = {each.step: each.said for each in release.log}[Step.SNAPSHOT]
    assert said.endswith("left there: retry: 4 records; left there: 4 events wait for their next try")


def test_a_side_that_has_read_everything_has_nothing_left() -> None:
    world = ReleaseWorld()
    world.ask(Kind.DEPLOY, Bad.CRASHES)
    release = world.ended()
    assert not release.leftovers
    assert Step.CATCH_UP not in steps(release)
