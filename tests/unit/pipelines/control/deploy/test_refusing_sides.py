"""A side that takes no events gets no further traffic, and does not count as serving all of it."""

import pytest

from shared.contracts.release_steps import Kind, Step
from tests.harness.fake_world import DARK, LIGHT, NEW, OLD
from tests.harness.release_world import SHORT, ReleaseWorld, assert_whole


def test_a_side_that_takes_no_events_any_more_does_not_get_all_of_them() -> None:
    world = ReleaseWorld()
    world.ask(Kind.DEPLOY, NEW)
    world.until(lambda release: release.step is Step.ALL)
    world.place.refusing = {DARK}
    world.until(lambda release: bool(release.back))
    assert world.place.world.shares == {LIGHT: 50, DARK: 50}
    assert world.ended().back == "all was not over after 600 s: all: green takes no events"
    assert_whole(world, version=OLD, side=LIGHT)


@pytest.mark.parametrize("meter_is_silent", [False, True])
def test_a_version_that_stops_taking_events_when_it_has_all_of_them_is_undone(meter_is_silent: bool) -> None:
    world = ReleaseWorld()
    world.ask(Kind.DEPLOY, NEW)
    baked = world.until(lambda release: release.step is Step.BAKE)
    world.place.refusing = {DARK}
    world.place.silent_meters = {DARK} if meter_is_silent else set()
    release = world.ended()
    assert release.back == "2.0 is not ready on green: waiting for collect"
    bake = next(each for each in release.log if each.step is Step.BAKE)
    assert 600 <= (bake.until_ms - baked.since_ms) / 1_000 <= 610
    assert_whole(world, version=OLD, side=LIGHT)


def test_a_version_that_is_not_ready_for_a_while_bakes_until_it_is() -> None:
    world = ReleaseWorld(SHORT)
    world.ask(Kind.DEPLOY, NEW)
    world.until(lambda release: release.step is Step.BAKE)
    world.place.refusing = {DARK}
    for _ in range(120):
        world.turn()
    assert (world.release.step, world.release.said) == (
        Step.BAKE,
        "2.0 is not ready on green: waiting for collect",
    )
    world.place.refusing = set()
    assert world.ended().step is Step.DONE
    assert_whole(world, version=NEW, side=DARK)


def test_the_end_of_a_burst_does_not_bring_all_traffic_to_a_side_that_takes_none() -> None:
    world = ReleaseWorld()
    world.ask(Kind.BURST)
    world.ended()
    world.place.refusing = {LIGHT}
    world.ask(Kind.BURST_OFF)
    assert world.ended().back == "all was not over after 600 s: all: blue takes no events"
    assert world.place.world.shares == {LIGHT: 50, DARK: 50}
    assert not world.place.world.sides[DARK].parked
    world.place.refusing = set()
    world.ask(Kind.BURST_OFF)
    assert world.ended().step is Step.DONE
    assert_whole(world, version=OLD, side=LIGHT)
