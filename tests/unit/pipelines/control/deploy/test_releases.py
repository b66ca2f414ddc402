"""Whole releases over two sides in memory: a good version gets all traffic, a bad one is undone."""

import pytest

from pipelines.control.deploy.deployer import health_of
from pipelines.control.deploy.judging.traffic_minutes import first_whole_minute
from pipelines.control.deploy.policy import Policy
from shared.contracts.envelope import MINUTE_MS
from shared.contracts.release_steps import Kind, Step
from shared.contracts.releases import Finding
from tests.harness.fake_place import TENANTS
from tests.harness.fake_world import DARK, LIGHT, NEW, OLD, Bad
from tests.harness.release_world import ReleaseWorld, assert_whole, steps


def test_a_good_version_takes_all_traffic_step_by_step() -> None:
    world = ReleaseWorld()
    world.ask(Kind.DEPLOY, NEW)
    release = world.ended()
    assert release.step is Step.DONE
    assert steps(release) == list(release.plan)
    assert_whole(world, version=NEW, side=DARK)
    assert [each.finding for each in release.verdicts if each.step is Step.WATCH][-1] is Finding.GOOD
    assert [weights[DARK] for _, weights in world.place.world.since] == [10, 50, 100]


def test_a_start_that_failed_for_a_reason_that_passes_is_made_again() -> None:
    world = ReleaseWorld()
    world.place.world.sides[DARK].unlucky = True
    world.ask(Kind.DEPLOY, NEW)
    assert world.ended().step is Step.DONE
    assert_whole(world, version=NEW, side=DARK)


def test_named_customers_are_the_first_traffic_and_go_with_the_others_from_half_on() -> None:
    world = ReleaseWorld()
    world.ask(Kind.DEPLOY, NEW, canary_tenants=TENANTS)
    release = world.until(lambda release: release.step is Step.WATCH)
    assert dict(world.place.pinned()) == dict.fromkeys(TENANTS, DARK)
    assert world.place.world.shares == {LIGHT: 100, DARK: 0}
    assert release.log[-1].said == "acme, globex on green"
    world.until(lambda release: release.step is Step.WATCH_HALF)
    assert dict(world.place.pinned()) == {}
    release = world.ended()
    assert (release.step, steps(release)) == (Step.DONE, list(release.plan))
    assert_whole(world, version=NEW, side=DARK)
    assert [weights[DARK] for _, weights in world.place.world.since] == [2, 50, 100]


@pytest.mark.parametrize("step", [Step.CANARY, Step.WATCH])
def test_named_customers_go_back_with_the_release(step: Step) -> None:
    world = ReleaseWorld()
    world.ask(Kind.DEPLOY, NEW, canary_tenants=TENANTS[:1])
    world.until(lambda release: release.step is step)
    world.ask(Kind.ROLLBACK)
    assert world.ended().step is Step.UNDONE
    assert dict(world.place.pinned()) == {}
    assert_whole(world, version=OLD, side=LIGHT)


def test_a_version_that_is_bad_to_named_customers_is_undone() -> None:
    world = ReleaseWorld()
    world.ask(Kind.DEPLOY, Bad.DROPS, canary_tenants=TENANTS)
    release = world.ended()
    assert (release.reached, release.step) == (Step.WATCH, Step.UNDONE)
    assert dict(world.place.pinned()) == {}
    assert_whole(world, version=OLD, side=LIGHT)


def test_a_customer_that_cannot_be_sent_to_one_side_ends_a_release_before_it_begins() -> None:
    world = ReleaseWorld()
    world.ask(Kind.DEPLOY, NEW, canary_tenants=["acme", "nobody"])
    release = world.ended()
    assert (release.reached, release.back) == (Step.PREFLIGHT, "no tenant nobody has a write key")
    assert_whole(world, version=OLD, side=LIGHT)


def test_a_release_waits_for_what_passes_and_refuses_what_does_not() -> None:
    world = ReleaseWorld()
    world.place.world.sides[DARK].patched = True
    world.ask(Kind.DEPLOY, NEW)
    for _ in range(3):
        world.turn(100)
    assert (world.release.step, world.release.said) == (Step.PREFLIGHT, "a broker of green is being patched")
    world.place.world.sides[DARK].patched = False
    assert world.ended().step is Step.DONE
    world.ask(Kind.DEPLOY, NEW)
    assert world.ended().back == "2.0 serves already, on green"
    world.ask(Kind.DEPLOY, "missing")
    assert world.ended().back == "version missing does not exist"


def test_a_version_is_judged_while_its_next_step_has_to_wait() -> None:
    world = ReleaseWorld()
    world.ask(Kind.DEPLOY, NEW)
    world.until(lambda release: release.step is Step.HALF)
    world.permissions.waits = ["blue: autoscaler: scale in is under way"]
    world.turn(300)
    assert world.release.waits == world.permissions.waits
    world.place.world.sides[DARK].version = Bad.SLOWER
    world.turn(61)
    assert "are late" in world.release.back


def test_a_version_with_traffic_that_may_not_go_on_for_too_long_is_undone() -> None:
    world = ReleaseWorld()
    world.ask(Kind.DEPLOY, NEW)
    world.until(lambda release: release.step is Step.HALF)
    world.permissions.waits = ["blue: autoscaler: scale in is under way"]
    world.turn()
    world.turn(601)
    assert "half had to wait 601 s: blue: autoscaler" in world.release.back


def test_a_load_test_is_made_when_the_rating_is_old_and_a_weak_one_undoes() -> None:
    world = ReleaseWorld(Policy(rating_days=7))
    world.ask(Kind.DEPLOY, NEW)
    release = world.ended()
    said = next(each.said for each in release.log if each.step is Step.LOAD_TEST)
    assert said == "10,000 events/s with p95 500 ms"


def test_what_a_bad_version_did_is_not_held_against_the_one_that_replaces_it() -> None:
    world = ReleaseWorld()
    world.place.world.sides[DARK].parked = False
    world.place.fail_stably(DARK, stable=False)
    world.turn(61)
    world.ask(Kind.DEPLOY, NEW)
    release = world.until(lambda found: found.step is Step.PROVE)
    assert health_of(world.place, release, DARK).stable
    world.place.fail_stably(DARK, stable=False)
    assert not health_of(world.place, release, DARK).stable


def test_a_version_is_judged_with_all_traffic_though_the_other_sides_meter_is_away() -> None:
    world = ReleaseWorld()
    world.ask(Kind.DEPLOY, NEW)
    world.until(lambda release: release.step is Step.BAKE)
    world.place.silent_meters = {LIGHT}
    world.place.world.sides[DARK].version = Bad.DROPS
    release = world.until(lambda release: bool(release.back))
    assert "events are lost" in release.back


def test_a_version_of_which_nothing_is_known_any_more_does_not_keep_all_traffic() -> None:
    world = ReleaseWorld()
    world.ask(Kind.DEPLOY, NEW)
    world.until(lambda release: release.step is Step.BAKE)
    world.place.silent_meters = {DARK}
    assert world.ended().step is Step.UNDONE
    assert "bake was not over after 2,400 s: bake: observe of green does not answer" in world.release.back


def test_how_a_version_did_with_its_first_traffic_does_not_keep_it_from_more() -> None:
    world = ReleaseWorld()
    world.ask(Kind.DEPLOY, NEW)
    watched = world.until(lambda found: found.step is Step.WATCH)
    world.until(lambda _: world.now_ms // MINUTE_MS == first_whole_minute(watched))
    world.place.fail_stably(DARK, stable=False)
    release = world.until(lambda found: found.step is Step.HALF)
    assert health_of(world.place, release, DARK).stable
    world.place.fail_stably(DARK, stable=False)
    assert not health_of(world.place, release, DARK).stable
