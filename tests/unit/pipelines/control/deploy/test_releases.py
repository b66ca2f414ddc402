"""Whole releases over two sides in memory: a good version takes all traffic, a bad one is undone."""

import pytest

from pipelines.control.deploy.backend import BackendError
from pipelines.control.deploy.deployer import health_of
from pipelines.control.deploy.judging.traffic_minutes import first_whole_minute
from pipelines.control.deploy.policy import Policy
from shared.contracts.envelope import MINUTE_MS
from shared.contracts.release_requests import RequestRefusedError
from shared.contracts.release_steps import Kind, Step
from shared.contracts.releases import Finding
from tests.harness.fake_place import TENANTS
from tests.harness.fake_world import DARK, LIGHT, OLD, Bad
from tests.harness.release_world import ReleaseWorld, assert_whole, steps

NEW = "2.0"


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


@pytest.mark.parametrize("late", [(0.12,), (0.29,), (0.29, 0.1)])
def test_a_switch_is_not_undone_because_the_side_still_compiles_at_first(late: tuple[float, ...]) -> None:
    world = ReleaseWorld()
    world.place.late_when_cold = late
    world.ask(Kind.SWITCH)
    assert (world.ended().step, world.release.back) == (Step.DONE, "")
    assert_whole(world, version=OLD, side=DARK)


@pytest.mark.parametrize("late", [(0.6,), (0.29, 0.2), (0.12,) * 5])
def test_a_switch_to_a_side_that_stays_late_is_undone(late: tuple[float, ...]) -> None:
    world = ReleaseWorld()
    world.place.late_when_cold = late
    world.ask(Kind.SWITCH)
    assert world.ended().step is Step.UNDONE
    assert "are late, where 5 % are allowed" in world.release.back
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


def test_a_side_that_was_slow_may_be_parked_and_one_that_takes_traffic_must_be_stable() -> None:
    world = ReleaseWorld()
    world.ask(Kind.DEPLOY, NEW)
    release = world.until(lambda found: found.step is Step.PARK)
    for side in (LIGHT, DARK):
        world.place.fail_stably(side, stable=False)
    assert health_of(world.place, release, LIGHT).stable
    assert not health_of(world.place, release, DARK).stable


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


def test_a_step_that_was_watched_for_long_has_all_of_its_patience_when_it_begins_to_wait() -> None:
    world = ReleaseWorld()
    world.ask(Kind.DEPLOY, NEW)
    world.until(lambda release: release.step is Step.HALF)
    world.permissions.waits = ["blue: autoscaler: scale in is under way"]
    world.turn(500)
    world.permissions.waits = ["blue: maintenance is under way"]
    world.turn(150)
    assert not world.release.back, "it has waited for 150 s"
    world.turn(460)
    assert "half had to wait 610 s: blue: maintenance" in world.release.back


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


@pytest.mark.parametrize(("step", "following"), [(Step.WATCH, Step.HALF), (Step.WATCH_HALF, Step.ALL)])
def test_a_good_verdict_counts_though_it_comes_after_a_long_absence(step: Step, following: Step) -> None:
    world = ReleaseWorld()
    world.ask(Kind.DEPLOY, NEW)
    world.until(lambda release: release.step is step)
    world.turn(3_600)
    assert world.release.step is following


@pytest.mark.parametrize("finds", ["a wait", "a silent meter"])
@pytest.mark.parametrize(("step", "following"), [(Step.WATCH, Step.HALF), (Step.WATCH_HALF, Step.ALL)])
def test_a_good_verdict_counts_though_the_first_look_after_a_long_absence_cannot_have_it(
    step: Step, following: Step, finds: str
) -> None:
    world = ReleaseWorld()
    world.ask(Kind.DEPLOY, NEW)
    world.until(lambda release: release.step is step)
    world.another()
    if finds == "a wait":
        world.permissions.waits = [f"green: deployer: step forward (deploy 2.0, {step}) is under way"]
    else:
        world.place.silent_meters = {DARK}
    world.turn(3_600)
    for _ in range(17):
        world.turn()
    assert (world.release.step, world.release.back) == (step, "")
    world.permissions.waits, world.place.silent_meters = [], set()
    world.turn()
    assert (world.release.step, world.release.back) == (following, "")


@pytest.mark.parametrize("step", [Step.WATCH, Step.WATCH_HALF])
def test_a_version_of_which_a_watch_learns_nothing_after_a_long_absence_is_undone(step: Step) -> None:
    world = ReleaseWorld()
    world.ask(Kind.DEPLOY, NEW)
    world.until(lambda release: release.step is step)
    world.another()
    world.place.silent_meters = {DARK}
    world.turn(3_600)
    back_ms = world.now_ms
    world.until(lambda release: bool(release.back))
    assert f"{step} was not over after 1,800 s: {step}: observe of green" in world.release.back
    assert 600 <= (world.now_ms - back_ms) / 1_000 <= 620


def test_a_version_that_did_well_is_kept_though_nobody_looked_for_longer_than_it_bakes() -> None:
    world = ReleaseWorld()
    world.ask(Kind.DEPLOY, NEW)
    world.until(lambda release: release.step is Step.BAKE)
    world.turn(3_600)
    assert world.ended().step is Step.DONE


@pytest.mark.parametrize("before", [False, True], ids=["", "as before"])
@pytest.mark.parametrize("finds", ["a wait", "a silent meter"])
def test_the_first_look_after_a_long_absence_does_not_undo_a_version_that_did_well(
    finds: str, before: bool
) -> None:
    world = ReleaseWorld()
    world.ask(Kind.DEPLOY, NEW)
    world.until(lambda release: release.step is Step.BAKE)
    world.turn(60)

    def found(*, now: bool) -> None:
        """The activity of the deployer that died is taken for alive, or observe is being started."""
        is_wait = finds == "a wait"
        waits = ["green: deployer: step forward (deploy 2.0, bake) is under way"]
        world.permissions.waits = waits if now and is_wait else []
        world.place.silent_meters = {DARK} if now and not is_wait else set()

    if before:  # the machine went down, and the deployer last
        found(now=True)
        world.turn()
    world.another()
    found(now=True)
    world.turn(3_600)
    for _ in range(17):
        world.turn()
    assert not world.release.back
    found(now=False)
    assert (world.ended().step, world.release.back) == (Step.DONE, "")
    assert_whole(world, version=NEW, side=DARK)


def test_a_version_of_which_nothing_is_known_after_a_long_absence_is_undone_in_the_end() -> None:
    world = ReleaseWorld()
    world.ask(Kind.DEPLOY, NEW)
    world.until(lambda release: release.step is Step.BAKE)
    world.another()
    world.place.silent_meters = {DARK}
    world.turn(3_600)
    back_ms = world.now_ms
    assert world.ended().step is Step.UNDONE
    assert "bake was not over after 2,400 s: bake: observe of green does not answer" in world.release.back
    given_back_ms = world.place.world.since[-1][0]
    assert 600 <= (given_back_ms - back_ms) / 1_000 <= 620


def test_with_all_the_traffic_a_release_waits_for_others_only_so_long() -> None:
    world = ReleaseWorld()
    world.ask(Kind.DEPLOY, NEW)
    world.until(lambda release: release.step is Step.BAKE)
    world.permissions.waits = ["green: maintenance: maintain is under way"]
    world.until(lambda release: bool(release.back))
    assert "bake was not over after 2,400 s: green: maintenance" in world.release.back


def test_a_release_without_traffic_may_wait_for_longer_than_a_start_may_take() -> None:
    world = ReleaseWorld()
    world.ask(Kind.DEPLOY, NEW)
    world.until(lambda release: release.step is Step.READY)
    world.place.world.sides[DARK].since_ms = world.now_ms + 700_000  # not ready for so long
    world.permissions.waits = ["green: maintenance: maintain is under way"]
    world.turn(650)
    assert (world.release.step, world.release.back) == (Step.READY, "")
    world.permissions.waits = []
    world.turn()
    assert (world.release.step, world.release.back) == (Step.READY, "")
    assert world.ended().step is Step.DONE
    assert_whole(world, version=NEW, side=DARK)


def test_a_version_that_is_not_ready_after_a_wait_has_the_time_of_a_start_and_no_more() -> None:
    world = ReleaseWorld()
    world.ask(Kind.DEPLOY, Bad.NEVER_READY)
    world.until(lambda release: release.step is Step.READY)
    world.permissions.waits = ["green: maintenance: maintain is under way"]
    world.turn(1_900)
    world.permissions.waits = []
    world.turn()
    world.turn(1_799)
    assert (world.release.step, world.release.back) == (Step.READY, "")
    world.turn(2)
    assert "ready was not over after 1,800 s" in world.release.back
