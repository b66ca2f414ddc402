"""In memory, a side is parked once all its events have arrived."""

import pytest

from pipelines.control.deploy.backend import BackendError
from pipelines.control.deploy.deployer import health_of
from pipelines.control.deploy.policy import Policy
from shared.contracts.release_requests import RequestRefusedError
from shared.contracts.release_steps import Kind, Step
from tests.harness.fake_world import DARK, LIGHT, NEW, OLD
from tests.harness.release_world import ReleaseWorld, assert_whole, steps


def test_a_burst_opens_both_sides_and_its_end_parks_one() -> None:
    world = ReleaseWorld()
    world.ask(Kind.BURST)
    assert world.ended().step is Step.DONE
    world.turn(30)
    assert world.place.world.shares == {LIGHT: 50, DARK: 50}
    with pytest.raises(RequestRefusedError, match="burst off"):
        world.ask(Kind.DEPLOY, NEW)
    world.ask(Kind.BURST_OFF)
    assert world.ended().step is Step.DONE
    assert_whole(world, version=OLD, side=LIGHT)


def test_a_side_is_parked_only_when_its_retries_are_over_or_their_time_is_up() -> None:
    world = ReleaseWorld(Policy(retries_seconds=3_600))
    world.place.world.sides[LIGHT].retries = 4
    world.ask(Kind.DEPLOY, NEW)
    world.until(lambda release: release.step is Step.DRAIN)
    world.turn(1_800)
    assert world.release.step is Step.DRAIN
    assert world.release.said == "left: retry: 4 records; 4 events wait for their next try"
    world.turn(1_801)
    release = world.ended()
    said = next(each.said for each in release.log if each.step is Step.DRAIN)
    assert said == "nothing unread; 4 events wait in its retry topics; dead letters: 2 410 gone"


def test_a_side_that_was_slow_may_be_parked_and_one_that_takes_traffic_must_be_stable() -> None:
    world = ReleaseWorld()
    world.ask(Kind.DEPLOY, NEW)
    release = world.until(lambda found: found.step is Step.PARK)
    for side in (LIGHT, DARK):
        world.place.fail_stably(side, stable=False)
    assert health_of(world.place, release, LIGHT).stable
    assert not health_of(world.place, release, DARK).stable


def test_a_side_that_drains_for_hours_goes_on_draining_when_another_deployer_takes_over() -> None:
    world = ReleaseWorld()
    world.place.world.sides[LIGHT].retries = 4
    world.ask(Kind.DEPLOY, NEW)
    world.until(lambda release: release.step is Step.DRAIN)
    world.turn(7_200)
    world.another()
    world.permissions.waits = ["blue: deployer: step forward is under way"]
    for _ in range(17):
        world.turn()
    world.permissions.waits = []
    since_ms = world.release.since_ms
    world.turn()
    assert (world.release.step, world.release.since_ms) == (Step.DRAIN, since_ms)
    world.place.world.sides[LIGHT].retries = 0
    assert world.ended().step is Step.DONE
    assert_whole(world, version=NEW, side=DARK)


def test_the_end_of_a_burst_waits_for_as_long_as_it_has_to() -> None:
    world = ReleaseWorld()
    world.ask(Kind.BURST)
    world.ended()
    world.ask(Kind.BURST_OFF)
    world.until(lambda release: release.step is Step.ALL)
    world.permissions.waits = ["blue: maintenance: maintain is under way"]
    for _ in range(20):
        world.turn(300)
    assert (world.release.step, world.release.back) == (Step.ALL, "")
    world.permissions.waits = []
    assert world.ended().step is Step.DONE
    assert_whole(world, version=OLD, side=LIGHT)


def test_the_end_of_a_burst_that_failed_may_be_asked_for_again() -> None:
    world = ReleaseWorld()
    world.ask(Kind.BURST)
    world.ended()
    world.ask(Kind.BURST_OFF)

    def refuse(name: str) -> None:
        if name == "set_weights":
            raise BackendError("HAProxy does not answer")

    world.place.before_call = refuse
    assert world.ended().step is Step.UNDONE
    with pytest.raises(RequestRefusedError, match="burst off"):
        world.ask(Kind.DEPLOY, NEW)
    world.place.before_call = lambda _: None
    world.ask(Kind.BURST_OFF)
    assert world.ended().step is Step.DONE
    assert_whole(world, version=OLD, side=LIGHT)


def test_a_place_that_was_started_again_drains_the_side_that_served() -> None:
    world = ReleaseWorld()
    world.ask(Kind.DEPLOY, NEW)
    world.until(lambda release: release.step is Step.DRAIN)
    former = world.place.world.sides[LIGHT]
    former.parked, former.unlucky, former.end = True, True, former.end + 5
    assert world.ended().step is Step.DONE
    assert_whole(world, version=NEW, side=DARK)


def test_what_comes_while_a_side_is_being_stopped_is_processed_before_it_stays_parked() -> None:
    world = ReleaseWorld()
    world.ask(Kind.DEPLOY, NEW)
    world.until(lambda release: release.step is Step.PARK)
    came = iter([7.0])

    def take(name: str) -> None:
        if name == "park":
            world.place.world.sides[LIGHT].end += next(came, 0)

    world.place.after_call = take
    release = world.ended()
    assert [each.said for each in release.log if each.step is Step.PARK] == [
        "since blue had drained came: ingest: 7 records",
        "blue is parked",
    ]
    assert_whole(world, version=NEW, side=DARK)


@pytest.mark.parametrize("when", ["after_call", "before_call"])
def test_events_that_wait_for_a_retry_since_a_side_is_being_stopped_keep_it_for_their_time(when: str) -> None:
    world = ReleaseWorld()
    world.ask(Kind.DEPLOY, NEW)
    world.until(lambda release: release.step is Step.PARK)
    came = iter([4])

    def retry(name: str) -> None:
        if name == ("park" if when == "after_call" else "pause_canary"):
            world.place.world.sides[LIGHT].retries += next(came, 0)

    setattr(world.place, when, retry)
    world.until(lambda release: release.step is Step.DRAIN)
    assert world.release.log[-1].said == (
        "since blue had drained came: retry: 4 records; 4 events wait for their next try"
    )
    world.turn(3_600)
    assert (world.release.step, world.release.unfinished) == (Step.DRAIN, "")
    world.place.world.sides[LIGHT].retries = 0
    assert world.ended().step is Step.DONE
    assert [each for each in steps(world.release) if each is Step.DRAIN] == [Step.DRAIN, Step.DRAIN]
    assert_whole(world, version=NEW, side=DARK)


def test_events_that_wait_for_a_retry_after_their_time_do_not_keep_a_side_that_is_being_stopped() -> None:
    world = ReleaseWorld(Policy(retries_seconds=0))
    world.ask(Kind.DEPLOY, NEW)
    world.until(lambda release: release.step is Step.PARK)
    world.place.world.sides[LIGHT].retries = 4
    release = world.ended()
    assert (release.step, steps(release)) == (Step.DONE, list(release.plan))


def test_alarms_of_a_side_do_not_keep_a_burst_from_being_ended() -> None:
    world = ReleaseWorld()
    world.ask(Kind.BURST)
    world.ended()
    world.place.fail_stably(LIGHT, stable=False)
    world.ask(Kind.BURST_OFF)
    release = world.until(lambda found: found.step is Step.ALL)
    assert health_of(world.place, release, LIGHT).stable
