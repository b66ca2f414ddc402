"""On the way back a side is parked again once it has processed the events that came meanwhile."""

from pipelines.control.deploy.backend import BackendError
from shared.contracts.release_steps import Kind, Step
from tests.harness.fake_world import DARK, LIGHT, OLD, Bad
from tests.harness.release_world import ReleaseWorld, assert_whole


def test_a_side_that_is_stopped_for_long_is_still_asked_where_it_stands() -> None:
    world = ReleaseWorld()
    world.ask(Kind.DEPLOY, Bad.SLOWER)
    world.until(lambda release: release.step is Step.STOP)
    world.place.world.sides[DARK].spoilt = True
    world.turn(150)  # ending its programs took this long
    world.turn()
    assert world.release.step is Step.STOP
    world.place.world.sides[DARK].spoilt = False
    release = world.ended()
    assert "goes on from where it was stopped" in {each.step: each.said for each in release.log}[Step.REWIND]
    assert_whole(world, version=OLD, side=LIGHT)


def test_what_comes_while_a_side_is_parked_again_is_processed_before_it_stays_parked() -> None:
    world = ReleaseWorld()
    world.ask(Kind.DEPLOY, Bad.SLOWER)
    world.until(lambda release: release.step is Step.LAY_DOWN)
    came = iter([7.0])

    def take(name: str) -> None:
        if name == "park":
            world.place.world.sides[DARK].end += next(came, 0)

    world.place.after_call = take
    release = world.ended()
    assert [each.said for each in release.log if each.step is Step.LAY_DOWN] == [
        "since green had caught up came: ingest: 7 records",
        "green is parked",
    ]
    assert_whole(world, version=OLD, side=LIGHT)


def test_events_that_wait_for_a_retry_since_a_side_is_parked_again_keep_it_for_their_time() -> None:
    world = ReleaseWorld()
    world.ask(Kind.DEPLOY, Bad.SLOWER)
    world.until(lambda release: release.step is Step.LAY_DOWN)
    came = iter([4])

    def retry(name: str) -> None:
        if name == "park":
            world.place.world.sides[DARK].retries += next(came, 0)

    world.place.after_call = retry
    world.until(lambda release: release.step is Step.CATCH_UP)
    assert world.release.log[-1].said.endswith("came: retry: 4 records; 4 events wait for their next try")
    world.turn(3_600)
    assert world.release.step is Step.CATCH_UP
    world.place.world.sides[DARK].retries = 0
    assert world.ended().step is Step.UNDONE
    assert_whole(world, version=OLD, side=LIGHT)


def test_a_side_that_has_something_before_it_is_not_parked_again() -> None:
    world = ReleaseWorld()
    world.ask(Kind.DEPLOY, Bad.SLOWER)
    world.until(lambda release: release.step is Step.LAY_DOWN)
    side = world.place.world.sides[DARK]
    side.since_ms, side.end = world.now_ms + 10_000, side.end + 7  # it reads nothing for a while
    world.turn()
    assert (world.release.step, side.stopping, side.parked) == (Step.CATCH_UP, False, False)
    assert world.ended().step is Step.UNDONE
    assert_whole(world, version=OLD, side=LIGHT)


def test_a_canary_that_is_stopped_already_does_not_keep_its_side_from_being_parked() -> None:
    world = ReleaseWorld()
    world.ask(Kind.DEPLOY, Bad.SLOWER)
    world.until(lambda release: release.step is Step.CATCH_UP)

    def refuse(name: str) -> None:
        if name == "pause_canary":
            raise BackendError("the canary of green does not answer")

    world.place.before_call = refuse
    assert world.ended().step is Step.UNDONE
    assert_whole(world, version=OLD, side=LIGHT)
