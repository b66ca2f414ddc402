"""Whole releases over two sides in memory: a good version takes all traffic, a bad one is undone."""

import pytest

from pipelines.control.deploy.deployer import health_of
from pipelines.control.deploy.policy import Policy
from shared.contracts.release_requests import RequestRefusedError
from shared.contracts.releases import PLANS, Finding, Kind, Release, Step
from tests.harness.fake_place import TENANTS
from tests.harness.fake_world import DARK, LIGHT, OLD, Bad, badly_ended, described, doubled
from tests.harness.release_world import ReleaseWorld

NEW = "2.0"


def steps(release: Release) -> list[Step]:
    return [each.step for each in release.log]


def assert_whole(world: ReleaseWorld, *, version: str, side: str) -> None:
    """One side serves one version, the other is parked, and every event ended well."""
    world.turn()
    found = world.place.world
    other = DARK if side == LIGHT else LIGHT
    assert found.shares == {side: 100, other: 0}
    assert (found.sides[side].version, found.sides[side].parked) == (version, False), described(found)
    assert found.sides[other].parked, described(found)
    assert not found.refused
    assert badly_ended(found) == []
    assert doubled(found) == []


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


def test_a_good_version_whose_start_failed_on_the_way_back_is_started_again() -> None:
    world = ReleaseWorld()
    world.ask(Kind.DEPLOY, Bad.DROPS)
    world.until(lambda release: release.step is Step.RESTART)
    world.place.world.sides[DARK].unlucky = True
    assert world.ended().step is Step.UNDONE
    assert_whole(world, version=OLD, side=LIGHT)


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


BAD = {
    Bad.CRASHES: (Step.READY, "ended by themselves 3 times: ingest ended by itself"),
    Bad.NEVER_READY: (Step.READY, "ready was not over after 600 s: waiting for route"),
    Bad.UNREADABLE: (Step.PREFLIGHT, "cannot read the checkpoint of ingest"),
    Bad.GARBAGE: (Step.PROVE, "arrived with other bytes (event 7: `1.10` arrived as `1.1`)"),
    Bad.SLOWER: (Step.WATCH, "100 % of 1,800 events are late, against 0.198 % of 16,200"),
    Bad.SLOWER_AND_DROPS: (Step.WATCH, "100 % of 1,800 events are late, against 0.198 % of 16,200"),
    Bad.SLOWER_AND_HANGS: (Step.WATCH, "100 % of 1,800 events are late, against 0.198 % of 16,200"),
    Bad.SLOWER_AND_STOPS: (Step.WATCH, "100 % of 1,800 events are late, against 0.198 % of 16,200"),
    Bad.DROPS: (Step.WATCH, "9 events are lost"),
    Bad.DOUBLES: (Step.WATCH, "0.5 % of 1,800 events are doubled, against 0 % of 16,200"),
    Bad.RARE_GARBAGE: (Step.WATCH, "1 events arrived changed"),
    Bad.REFUSES: (Step.WATCH, "0.5 % of 1,800 events are dead letters (unreadable), against 0 %"),
    Bad.LEAKS: (Step.WATCH_HALF, "memory: 740 MiB against 500"),
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


@pytest.mark.parametrize("bad", [Bad.SLOWER_AND_DROPS, Bad.DROPS, Bad.RARE_GARBAGE, Bad.REFUSES])
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
        (Bad.SLOWER, "none of the version's events is lost", 240),
        (Bad.SLOWER_AND_DROPS, "9 events are lost: processed again", 240),
        (Bad.SLOWER_AND_STOPS, "not known: waiting for transmit", 65),
        (Bad.SLOWER_AND_HANGS, "not known after 600 s", 605),
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


def test_a_meter_that_does_not_answer_any_more_does_not_keep_a_side_from_being_put_right() -> None:
    world = ReleaseWorld()
    world.ask(Kind.DEPLOY, Bad.SLOWER)
    world.until(lambda release: release.step is Step.GIVE_BACK)
    world.place.meter_is_silent = True
    release = world.ended()
    assert {each.step: each.said for each in release.log}[Step.SETTLE] == "not known after 600 s"
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
    assert said[Step.REWIND] == "goes on from its snapshot"
    assert badly_ended(world.place.world) == []


def test_a_slower_version_is_not_replayed() -> None:
    world = ReleaseWorld()
    world.ask(Kind.DEPLOY, Bad.SLOWER)
    assert not world.ended().replay
    assert not any(marked for *_, marked in world.place.world.sides[DARK].processed)


@pytest.mark.parametrize("step", PLANS[Kind.DEPLOY])
def test_an_operator_takes_a_release_back_at_any_step(step: Step) -> None:
    world = ReleaseWorld(Policy(rating_days=1))
    world.ask(Kind.DEPLOY, NEW)
    world.until(lambda release: release.step is step)
    asked_ms = world.now_ms
    world.ask(Kind.ROLLBACK)
    release = world.ended()
    assert (release.step, release.back) == (Step.UNDONE, "ann asked for it")
    assert_whole(world, version=OLD, side=LIGHT)
    changes = [at_ms for at_ms, _ in world.place.world.since if at_ms > asked_ms]
    if changes and step is not Step.PARK:  # a side that may be parked is started first
        assert changes[0] - asked_ms <= 10_000


@pytest.mark.parametrize("replay", [False, True])
def test_a_rollback_brings_back_the_former_side_and_puts_the_bad_one_right(replay: bool) -> None:
    world = ReleaseWorld()
    world.ask(Kind.DEPLOY, NEW)
    world.ended()
    world.turn(30)
    world.ask(Kind.ROLLBACK, replay=replay)
    release = world.ended()
    assert release.step is Step.DONE
    assert_whole(world, version=OLD, side=LIGHT)
    assert any(marked for *_, marked in world.place.world.sides[DARK].processed) == replay
    with pytest.raises(RequestRefusedError, match="nothing to roll back"):
        world.ask(Kind.ROLLBACK)


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


def test_a_switch_moves_the_serving_version_to_the_other_side() -> None:
    world = ReleaseWorld()
    world.ask(Kind.SWITCH)
    assert world.ended().step is Step.DONE
    assert_whole(world, version=OLD, side=DARK)


def test_a_side_is_parked_only_when_its_retries_are_over_or_their_time_is_up() -> None:
    world = ReleaseWorld(Policy(retries_seconds=3_600))
    world.place.world.sides[LIGHT].retries = 4
    world.ask(Kind.DEPLOY, NEW)
    world.until(lambda release: release.step is Step.DRAIN)
    world.turn(1_800)
    assert world.release.step is Step.DRAIN
    assert world.release.said == "left: 4 events wait for their next try"
    world.turn(1_801)
    release = world.ended()
    said = next(each.said for each in release.log if each.step is Step.DRAIN)
    assert said == "nothing unread; 4 events wait in its retry topics; dead letters: 2 410 gone"


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
    world.hands.waits = ["blue: autoscaler: scale in is under way"]
    world.turn(300)
    assert world.release.waits == world.hands.waits
    world.place.world.sides[DARK].version = Bad.SLOWER
    world.turn(61)
    assert "are late" in world.release.back


def test_a_version_with_traffic_that_may_not_go_on_for_too_long_is_undone() -> None:
    world = ReleaseWorld()
    world.ask(Kind.DEPLOY, NEW)
    world.until(lambda release: release.step is Step.HALF)
    world.hands.waits = ["blue: autoscaler: scale in is under way"]
    world.turn()
    world.turn(601)
    assert "half had to wait 602 s: blue: autoscaler" in world.release.back


def test_a_load_test_is_made_when_the_rating_is_old_and_a_weak_one_undoes() -> None:
    world = ReleaseWorld(Policy(rating_days=7))
    world.ask(Kind.DEPLOY, NEW)
    release = world.ended()
    said = next(each.said for each in release.log if each.step is Step.LOAD_TEST)
    assert said == "10,000 events/s with p95 500 ms"


def test_a_side_that_was_slow_may_be_parked_and_one_that_takes_traffic_must_be_stable() -> None:
    world = ReleaseWorld()
    world.ask(Kind.DEPLOY, NEW)
    release = world.until(lambda found: found.step is Step.PARK)
    for side in (LIGHT, DARK):
        world.place.fail_stably(side, stable=False)
    assert health_of(world.place, release, LIGHT).stable
    assert not health_of(world.place, release, DARK).stable


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
