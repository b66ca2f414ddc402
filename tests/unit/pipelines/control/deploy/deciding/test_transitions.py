"""The recorded steps of a release are bounded, however many there are."""

from msgspec.structs import replace

from pipelines.control.deploy.deciding.transitions import moved
from pipelines.control.deploy.deployer import health_of
from pipelines.control.deploy.judging.traffic_minutes import (
    first_judged_minute,
    first_minute,
    first_whole_minute,
)
from shared.contracts.envelope import MINUTE_MS
from shared.contracts.release_steps import PLANS, Kind, Step
from shared.contracts.releases import Release
from tests.harness.fake_place import FakePlace
from tests.harness.fake_world import DARK, LIGHT

STEP_MS = 3 * MINUTE_MS


def _drained(rounds: int) -> Release:
    """A release that drained and parked its former side repeatedly."""
    release = Release(
        number=1, kind=Kind.DEPLOY, since_ms=0, asked_by="ann", asked_ms=0, target=DARK, former=LIGHT
    )
    for step in (*PLANS[Kind.DEPLOY][1:], *(Step.DRAIN, Step.PARK) * rounds):
        release = moved(release, step, release.since_ms + STEP_MS)
    return release


def test_minutes_of_traffic_are_known_after_any_number_of_rounds() -> None:
    few, many = _drained(1), _drained(200)
    assert first_minute(many) == first_minute(few)
    assert first_whole_minute(many) == first_whole_minute(few)


def test_losses_count_from_the_first_traffic_on_but_not_those_of_the_minute_of_a_start() -> None:
    release = _drained(1)
    canary = next(each for each in release.log if each.step is Step.CANARY)
    assert first_judged_minute(release) == canary.since_ms // MINUTE_MS
    by_hand = replace(release, by_hand=True)
    assert first_judged_minute(by_hand) == first_whole_minute(by_hand) < first_judged_minute(release)


def test_what_happened_before_the_start_counts_not_after_any_number_of_rounds() -> None:
    release = _drained(200)
    started = next(each.since_ms for each in _drained(0).log if each.step is Step.START)
    place = FakePlace(lambda: started)
    place.world.sides[DARK].parked = False
    place.fail_stably(DARK, stable=False)
    place.world.sides[DARK].unstable_minute = started // MINUTE_MS - 1
    assert health_of(place, release, DARK).stable


def test_the_last_steps_are_kept_and_the_log_stays_short() -> None:
    release = _drained(200)
    assert len(release.log) == 60
    assert (release.log[-1].step, release.log[-1].until_ms) == (Step.DRAIN, release.since_ms)
    ends = [each.until_ms for each in release.log]
    assert ends == sorted(ends)


def test_no_plan_is_longer_than_what_is_kept_of_the_beginning() -> None:
    release = _drained(200)
    plan = list(PLANS[Kind.DEPLOY])
    assert [each.step for each in release.log[: len(plan)]] == plan
