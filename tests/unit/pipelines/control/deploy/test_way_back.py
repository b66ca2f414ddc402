"""The way back of releases over two sides in memory: a bad version is undone, and nothing is lost."""

import pytest
from msgspec.structs import replace

from pipelines.control.deploy.backend import BackendError, SideMinute
from shared.contracts.release_steps import Kind, Step
from tests.harness.fake_world import DARK, LIGHT, NEW, OLD, Bad, doubled
from tests.harness.release_world import ReleaseWorld, assert_whole, steps

LATE = (Step.WATCH, "100 % of 1,800 events are late, against 0.198 % of 16,200")

BAD = {
    Bad.CRASHES: (Step.READY, "ended by themselves 3 times: ingest ended by itself"),
    Bad.NEVER_READY: (Step.READY, "ready was not over after 1,800 s: waiting for route"),
    Bad.UNREADABLE: (Step.PREFLIGHT, "cannot read the checkpoint of ingest"),
    Bad.GARBAGE: (Step.PROVE, "arrived with other bytes (event 7: `1.10` arrived as `1.1`)"),
    Bad.SLOWER: LATE,
    Bad.SLOWER_AND_DROPS: LATE,
    Bad.SLOWER_AND_HANGS: LATE,
    Bad.SLOWER_AND_STOPS: LATE,
    Bad.DROPS: (Step.WATCH, "1 events are lost"),
    Bad.DROPS_AT_FIRST: (Step.WATCH, "3 events are lost"),
    Bad.DOUBLES: (Step.WATCH, "0.5 % of 1,800 events are doubled, against 0 % of 16,200"),
    Bad.RARE_GARBAGE: (Step.WATCH, "1 events arrived changed"),
    Bad.REFUSES: (Step.WATCH, "0.5 % of 1,800 events are dead letters (unreadable), against 0 %"),
    Bad.LEAKS: (Step.WATCH_HALF, "memory: 740 MiB against 500"),
    Bad.HIGHER_P95: (Step.WATCH, "p95, ms: "),
    Bad.COSTLIER: (Step.WATCH, "CPU an event, ms: "),
}


@pytest.mark.parametrize("bad", list(Bad))
def test_a_bad_version_is_undone_with_the_right_words_and_nothing_is_lost(bad: Bad) -> None:
    world = ReleaseWorld()
    world.ask(Kind.DEPLOY, bad)
    release = world.ended()
    assert release.step is Step.UNDONE
    step, words = BAD[bad]
    assert words in release.back
    forward = [each for each in steps(release) if each in release.plan]
    assert step is None or forward[-1] is step
    assert_whole(world, version=OLD, side=LIGHT)


@pytest.mark.parametrize(
    "bad", [Bad.SLOWER, Bad.SLOWER_AND_DROPS, Bad.DROPS, Bad.DOUBLES, Bad.RARE_GARBAGE, Bad.REFUSES]
)
def test_a_bad_version_has_traffic_for_three_minutes_at_most(bad: Bad) -> None:
    world = ReleaseWorld()
    world.ask(Kind.DEPLOY, bad)
    world.ended()
    (begun, _), (given_back, weights), *_ = world.place.world.since
    assert weights == {LIGHT: 100, DARK: 0}
    assert given_back - begun <= 180_000


@pytest.mark.parametrize("bad", [Bad.SLOWER, Bad.DROPS, Bad.REFUSES])
def test_clients_that_follow_late_are_served_by_a_version_that_is_undone(bad: Bad) -> None:
    world = ReleaseWorld()
    world.place.world.cached_ms = 60_000
    world.ask(Kind.DEPLOY, bad)
    assert world.ended().step is Step.UNDONE
    assert_whole(world, version=OLD, side=LIGHT)


@pytest.mark.parametrize(
    "bad", [Bad.SLOWER_AND_DROPS, Bad.DROPS, Bad.DROPS_AT_FIRST, Bad.RARE_GARBAGE, Bad.REFUSES]
)
def test_what_a_version_spoilt_is_processed_again_by_the_good_one_and_marked(bad: Bad) -> None:
    world = ReleaseWorld()
    world.ask(Kind.DEPLOY, bad)
    release = world.ended()
    assert release.replay
    by_bad, again = world.place.world.sides[DARK].processed[:2]
    assert (by_bad[2], by_bad[3]) == (bad, False)
    assert (again[0], again[2], again[3]) == (by_bad[0], OLD, True)


@pytest.mark.parametrize(
    ("bad", "said", "most_seconds"),
    [
        (Bad.SLOWER, "none of the version's events is lost", 420),
        (Bad.SLOWER_AND_DROPS, "9 events are lost: processed again", 240),
        (Bad.SLOWER_AND_STOPS, "not known: waiting for transmit", 65),
        (Bad.SLOWER_AND_HANGS, "not known after 900 s", 905),
    ],
)
def test_a_release_waits_for_what_became_of_the_versions_events_but_not_for_ever(
    bad: Bad, said: str, most_seconds: int
) -> None:
    world = ReleaseWorld()
    world.ask(Kind.DEPLOY, bad)
    settle = next(each for each in world.ended().log if each.step is Step.SETTLE)
    assert settle.said == said
    assert settle.until_ms - settle.since_ms <= 1_000 * most_seconds


def test_a_program_that_is_started_again_for_a_moment_does_not_end_the_wait_for_what_is_lost() -> None:
    world = ReleaseWorld()
    world.ask(Kind.DEPLOY, Bad.SLOWER_AND_DROPS)
    world.until(lambda release: release.step is Step.SETTLE)
    for seconds in (62, 20):
        world.turn(seconds)
        world.place.world.sides[DARK].since_ms = world.now_ms  # not ready for five seconds
        world.turn()
        assert (world.release.step, world.release.unready_ms) == (Step.SETTLE, world.now_ms)
        world.turn(5)
        assert world.release.unready_ms == 0
    release = world.ended()
    assert release.replay
    assert {each.step: each.said for each in release.log}[Step.SETTLE] == "9 events are lost: processed again"
    assert_whole(world, version=OLD, side=LIGHT)


def test_a_side_that_is_not_ready_for_a_moment_goes_on_serving_clients_that_have_not_left_it() -> None:
    world = ReleaseWorld()
    world.place.world.cached_ms = 100_000
    world.ask(Kind.DEPLOY, NEW)
    world.until(lambda release: release.step is Step.BAKE)
    world.turn(120)
    world.ask(Kind.ROLLBACK, replay=True)
    world.until(lambda release: release.step is Step.LINGER)
    world.turn(62)
    world.place.world.sides[DARK].since_ms = world.now_ms
    world.turn()
    assert world.release.step is Step.LINGER
    assert world.ended().step is Step.UNDONE
    assert_whole(world, version=OLD, side=LIGHT)


def test_a_meter_that_does_not_answer_any_more_does_not_keep_a_side_from_being_put_right() -> None:
    world = ReleaseWorld()
    world.ask(Kind.DEPLOY, Bad.SLOWER)
    world.until(lambda release: release.step is Step.GIVE_BACK)
    world.place.silent_meters = {LIGHT, DARK}
    release = world.ended()
    assert {each.step: each.said for each in release.log}[Step.SETTLE] == "not known after 900 s"
    assert_whole(world, version=OLD, side=LIGHT)


def test_an_operators_rollback_replays_what_the_version_refused() -> None:
    world = ReleaseWorld()
    world.ask(Kind.DEPLOY, Bad.REFUSES)
    world.until(lambda release: release.step is Step.WATCH)
    world.turn(60)
    assert world.release.step is Step.WATCH
    world.ask(Kind.ROLLBACK)
    release = world.ended()
    assert release.back == "ann asked for it"
    assert "dead letters (unreadable)" in {each.step: each.said for each in release.log}[Step.SETTLE]
    assert_whole(world, version=OLD, side=LIGHT)


@pytest.mark.parametrize("answers", ["nothing", "no minutes", "unsettled minutes"])
def test_what_a_version_refused_is_replayed_though_the_other_sides_minutes_are_known_late(
    answers: str,
) -> None:
    world = ReleaseWorld()
    world.place.meter.settle_ms = 180_000
    world.ask(Kind.DEPLOY, Bad.REFUSES)
    world.until(lambda release: release.step is Step.WATCH)
    world.turn(60)
    world.ask(Kind.ROLLBACK)
    world.until(lambda release: release.step is Step.SETTLE)
    answered = world.place.minutes

    def late(side: str, first: int, last: int) -> list[SideMinute]:
        """The former side's minutes: for ten minutes its observe is silent, or has judged nothing yet."""
        found = list(answered(side, first, last))
        if side == DARK or world.now_ms - world.release.since_ms > 600_000:
            return found
        if answers == "nothing":
            raise BackendError(f"observe of {side} does not answer")
        return [replace(each, settled=False) for each in found if answers == "unsettled minutes"]

    world.place.minutes = late  # type: ignore[method-assign]
    said = {each.step: each.said for each in world.ended().log}
    assert "dead letters (unreadable)" in said[Step.SETTLE]
    assert_whole(world, version=OLD, side=LIGHT)


def test_of_a_version_without_a_side_to_compare_it_with_it_is_not_said_that_nothing_is_lost() -> None:
    world = ReleaseWorld()
    world.ask(Kind.DEPLOY, NEW)
    world.until(lambda release: release.step is Step.WATCH)
    world.turn(60)
    world.ask(Kind.ROLLBACK)
    world.until(lambda release: release.step is Step.GIVE_BACK)
    world.place.silent_meters = {LIGHT}
    said = {each.step: each.said for each in world.ended().log}
    assert said[Step.SETTLE] == "not known after 900 s"


def test_a_place_that_cannot_replay_goes_on_from_where_the_bad_version_stopped_and_says_so() -> None:
    world = ReleaseWorld()
    world.place.replays = False
    world.ask(Kind.DEPLOY, Bad.DROPS)
    release = world.ended()
    said = next(each.said for each in release.log if each.step is Step.REWIND)
    assert said == "goes on from where it was stopped, without a replay: this place marks nothing"
    assert doubled(world.place.world) == []


def test_a_version_that_spoils_its_own_checkpoint_is_undone_from_the_snapshot() -> None:
    world = ReleaseWorld()
    world.ask(Kind.DEPLOY, Bad.SLOWER)
    world.until(lambda release: release.step is Step.WATCH)
    world.place.world.sides[DARK].spoilt = True
    release = world.ended()
    said = {each.step: each.said for each in release.log}
    assert "does not say where it stands" in said[Step.STOP]
    replayed = "goes back to the snapshot; what went through since is replayed"
    assert said[Step.REWIND] == f"{replayed}; ingest from the snapshot, as it cannot be read"
    assert_whole(world, version=OLD, side=LIGHT)


def test_a_version_that_loses_its_own_checkpoint_is_undone_from_the_snapshot() -> None:
    world = ReleaseWorld()
    world.ask(Kind.DEPLOY, Bad.SLOWER)  # so that the side does not stand at its start
    world.ended()
    world.ask(Kind.DEPLOY, Bad.SLOWER)
    world.until(lambda release: release.step is Step.STOP)
    world.place.world.sides[DARK].lost = True
    release = world.ended()
    assert "ingest from the snapshot" in {each.step: each.said for each in release.log}[Step.REWIND]
    assert_whole(world, version=OLD, side=LIGHT)


def test_a_slower_version_is_not_replayed() -> None:
    world = ReleaseWorld()
    world.ask(Kind.DEPLOY, Bad.SLOWER)
    assert not world.ended().replay
    assert not any(marked for *_, marked in world.place.world.sides[DARK].processed)
