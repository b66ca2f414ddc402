"""If the former version can no longer be started, a release reports it before it begins or at its end."""

import pytest

from shared.contracts.release_steps import Kind, Step
from shared.contracts.releases import Release
from tests.harness.fake_world import DARK, LIGHT, NEW, OLD, Bad
from tests.harness.release_world import ReleaseWorld, assert_whole

GONE = "there is no version 1.0 any more"


def _said(release: Release, step: Step) -> str:
    return next(each.said for each in release.log if each.step is step)


@pytest.mark.parametrize("kind", [Kind.DEPLOY, Kind.SWITCH, Kind.BURST])
def test_a_release_without_a_way_back_is_refused_before_it_changes_anything(kind: Kind) -> None:
    world = ReleaseWorld()
    world.place.world.gone = [OLD]
    world.ask(kind, NEW if kind is Kind.DEPLOY else "")
    release = world.ended()
    assert (release.step, release.reached) == (Step.UNDONE, Step.PREFLIGHT)
    assert release.back == f"1.0 serves and could not be started again, so there is no way back: {GONE}"
    assert_whole(world, version=OLD, side=LIGHT)


def test_a_burst_ends_though_the_version_could_not_be_started_again() -> None:
    world = ReleaseWorld()
    world.ask(Kind.BURST)
    world.ended()
    world.place.world.gone = [OLD]
    world.ask(Kind.BURST_OFF)
    assert world.ended().step is Step.DONE
    assert_whole(world, version=OLD, side=LIGHT)


def test_a_good_version_that_is_gone_ends_a_release_that_says_what_is_left() -> None:
    world = ReleaseWorld()
    world.ask(Kind.DEPLOY, Bad.DROPS)
    world.until(lambda release: release.step is Step.STOP)
    world.place.world.gone = [OLD]
    release = world.ended()
    assert release.step is Step.UNDONE
    left = f"1.0 was not ready on green within 1,800 s ({GONE}): what green has"
    assert release.unfinished.startswith(left)
    assert _said(release, Step.RESTART) == release.unfinished
    assert (world.place.world.shares, world.place.world.sides[DARK].parked) == ({LIGHT: 100, DARK: 0}, True)
    # The next version started there processes the rest.
    world.place.world.gone = []
    world.ask(Kind.DEPLOY, NEW)
    assert world.ended().step is Step.DONE
    assert_whole(world, version=NEW, side=DARK)


def test_a_rollback_ends_though_the_side_that_it_left_cannot_be_put_right() -> None:
    world = ReleaseWorld()
    world.ask(Kind.DEPLOY, NEW)
    world.ended()
    world.ask(Kind.ROLLBACK)
    world.until(lambda release: release.step is Step.LINGER)
    world.place.world.gone = [OLD]
    release = world.ended()
    assert release.step is Step.DONE
    assert GONE in release.unfinished
    assert world.place.world.shares == {LIGHT: 100, DARK: 0}
    assert (world.place.world.sides[LIGHT].version, world.place.world.sides[DARK].parked) == (OLD, True)


def test_a_good_version_that_is_not_ready_again_does_not_catch_up_for_ever() -> None:
    world = ReleaseWorld()
    world.ask(Kind.DEPLOY, Bad.DROPS)
    world.until(lambda release: release.step is Step.CATCH_UP)
    world.place.world.sides[DARK].since_ms = world.now_ms + 10_000_000  # never ready
    release = world.ended()
    assert release.unfinished.startswith("1.0 was not ready on green within 1,800 s (route): what green has")
    assert world.place.world.sides[DARK].parked


def test_a_side_that_catches_up_for_long_has_all_of_its_time_when_it_is_not_ready() -> None:
    world = ReleaseWorld()
    world.ask(Kind.DEPLOY, Bad.DROPS)
    world.place.world.sides[DARK].retries = 4
    world.until(lambda release: release.step is Step.CATCH_UP)
    world.turn(10)
    world.turn(3_600)
    world.place.world.sides[DARK].since_ms = world.now_ms + 300_000
    world.turn(1)
    world.turn(299)
    assert (world.release.step, world.release.unfinished) == (Step.CATCH_UP, "")
    world.turn(20)
    assert world.release.unready_ms == 0
    world.place.world.sides[DARK].retries = 0
    assert world.ended().unfinished == ""
    assert_whole(world, version=OLD, side=LIGHT)


def test_traffic_stays_where_it_is_if_the_former_side_cannot_be_started_again() -> None:
    world = ReleaseWorld()
    world.ask(Kind.DEPLOY, NEW)
    world.until(lambda release: release.step is Step.PARK)
    world.place.world.sides[LIGHT].parked = True
    world.ask(Kind.ROLLBACK)
    world.place.world.gone = [OLD]
    release = world.ended()
    assert release.step is Step.UNDONE
    assert release.unfinished == (
        f"1.0 could not be started on blue within 1,800 s ({GONE}): green keeps the traffic; "
        "`hifi deploy VERSION` brings another version"
    )
    assert_whole(world, version=NEW, side=DARK)


def test_a_version_that_cannot_be_started_is_undone_with_the_reason() -> None:
    world = ReleaseWorld()
    world.ask(Kind.DEPLOY, NEW)
    world.until(lambda release: release.step is Step.START)
    world.place.world.gone = [NEW]
    back = world.ended().back
    assert back == "deploy dark was not over after 1,800 s: waiting for there is no version 2.0 any more"
    assert_whole(world, version=OLD, side=LIGHT)
