"""A request fits the present release, or is refused with a hint at a fitting one."""

import pytest
from msgspec.structs import replace

from shared.contracts.release_requests import Request, RequestRefusedError, requested
from shared.contracts.release_steps import PLANS, Kind, Step
from shared.contracts.releases import Passed, Release

DONE = Release(
    number=3, kind=Kind.DEPLOY, version="2.0", step=Step.DONE, since_ms=5, asked_by="ann", asked_ms=1,
    target="green", former="blue", former_version="1.0", term=4, owner="process", revision=9,
)  # fmt: skip
UNDER_WAY = replace(DONE, step=Step.WATCH)


def ask(current: Release | None, kind: Kind, version: str = "", *, replay: bool = False) -> Release:
    return requested(current, Request(kind=kind, version=version, replay=replay, by="ben"), 77)


def test_a_request_begins_the_next_release_with_the_fence_of_the_last_one() -> None:
    found = ask(DONE, Kind.DEPLOY, "3.0")
    assert (found.number, found.kind, found.version, found.step) == (4, Kind.DEPLOY, "3.0", Step.PREFLIGHT)
    assert (found.asked_by, found.asked_ms, found.since_ms) == ("ben", 77, 77)
    assert (found.term, found.owner, found.revision) == (4, "process", 9)
    assert ask(None, Kind.SWITCH).number == 1


def test_customers_are_named_for_a_deploy_alone_and_for_that_one() -> None:
    asked = Request(kind=Kind.DEPLOY, version="3.0", canary_tenants=["acme"], by="ben")
    named = requested(DONE, asked, 77)
    assert named.canary_tenants == ["acme"]
    assert requested(DONE, replace(asked, kind=Kind.SWITCH), 77).canary_tenants == []
    assert ask(replace(named, step=Step.DONE), Kind.DEPLOY, "4.0").canary_tenants == []


def test_a_rollback_turns_the_sides_of_the_last_deploy_around() -> None:
    found = ask(DONE, Kind.ROLLBACK, replay=True)
    assert (found.target, found.version, found.former, found.former_version) == (
        "blue",
        "1.0",
        "green",
        "2.0",
    )
    assert found.replay


@pytest.mark.parametrize("kind", [Kind.DEPLOY, Kind.ROLLBACK])
def test_a_request_that_changed_nothing_does_not_stand_in_the_way_of_a_rollback(kind: Kind) -> None:
    """For example a version that does not exist, or a rollback to a side that was closed at that moment."""
    refused = replace(
        ask(DONE, kind, "9.9"), step=Step.UNDONE, target="", former="", back="there is no version 9.9"
    )
    found = requested(refused, Request(kind=Kind.ROLLBACK, by="ben"), 77, DONE)
    assert (found.number, found.target, found.version) == (5, "blue", "1.0")
    assert (found.former, found.former_version, found.snapshot) == ("green", "2.0", DONE.snapshot)


def test_a_rollback_does_not_skip_an_undone_release_that_changed_something() -> None:
    undone = replace(DONE, step=Step.UNDONE, reached=Step.WATCH, number=4)
    with pytest.raises(RequestRefusedError, match="nothing to roll back"):
        requested(undone, Request(kind=Kind.ROLLBACK, by="ben"), 77, DONE)


def test_a_rollback_that_an_operator_ended_by_hand_is_not_begun_again() -> None:
    """Nothing records which side serves."""
    started = Passed(step=Step.START, since_ms=1, until_ms=2)
    by_hand = replace(ask(DONE, Kind.ROLLBACK), step=Step.UNDONE, reached=Step.START, log=[started])
    with pytest.raises(RequestRefusedError, match="nothing to roll back"):
        ask(by_hand, Kind.ROLLBACK)


def test_a_rollback_of_what_is_under_way_asks_for_the_way_back() -> None:
    found = ask(UNDER_WAY, Kind.ROLLBACK)
    assert (found.step, found.back, found.number) == (Step.WATCH, "ben asked for it", 3)
    again = replace(found, step=Step.STOP)
    assert ask(again, Kind.ROLLBACK, replay=True).replay, "before positions are set"


REFUSED: dict[str, tuple[Release | None, Kind, str]] = {
    "no version": (DONE, Kind.DEPLOY, "name the version"),
    "nothing yet": (None, Kind.ROLLBACK, "there was no release yet"),
    "under way": (UNDER_WAY, Kind.SWITCH, r"under way \(step watch\); `hifi rollback` undoes it"),
    "already undone": (replace(DONE, step=Step.UNDONE), Kind.ROLLBACK, "is undone: nothing to roll back"),
    "being undone": (
        replace(UNDER_WAY, step=Step.STOP, back="it is slow"), Kind.ROLLBACK, "undone already: it is slow",
    ),
    "rolling back": (replace(UNDER_WAY, kind=Kind.ROLLBACK), Kind.ROLLBACK, "cannot be undone"),
    "no burst": (DONE, Kind.BURST_OFF, "no burst is on"),
    "burst": (replace(DONE, kind=Kind.BURST), Kind.SWITCH, "`hifi burst off` first"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_does_not_fit_is_refused_with_what_does(name: str) -> None:
    current, kind, words = REFUSED[name]
    with pytest.raises(RequestRefusedError, match=words):
        ask(current, kind)


@pytest.mark.parametrize("kind", list(Kind))
def test_every_plan_begins_with_a_preflight_and_has_each_step_once(kind: Kind) -> None:
    assert PLANS[kind][0] is Step.PREFLIGHT
    assert len(set(PLANS[kind])) == len(PLANS[kind])


@pytest.mark.parametrize(
    ("kind", "moving", "resting"),
    [
        (Kind.DEPLOY, Step.BAKE, Step.DRAIN),
        (Kind.SWITCH, Step.BAKE, Step.PARK),
        (Kind.BURST, Step.BOTH, Step.DONE),
        (Kind.BURST_OFF, Step.ALL, Step.DRAIN),
        (Kind.ROLLBACK, Step.ALL, Step.LINGER),
    ],
)
def test_traffic_rests_after_the_last_step_that_moves_it(kind: Kind, moving: Step, resting: Step) -> None:
    release = replace(UNDER_WAY, kind=kind)
    assert not replace(release, step=moving).traffic_rests
    assert replace(release, step=resting).traffic_rests


def test_on_the_way_back_traffic_rests_once_it_was_given_back() -> None:
    back = replace(UNDER_WAY, back="too late")
    assert [
        step for step in (Step.WATCH, Step.WAKE, Step.GIVE_BACK) if replace(back, step=step).traffic_rests
    ] == []
    assert replace(back, step=Step.STOP).traffic_rests
    assert replace(back, step=Step.UNDONE).traffic_rests
