"""An operator's view of a release and of both sides."""

import io
import re

import pytest
from msgspec.structs import replace
from rich.console import Console, RenderableType

from scripts.deployer.view import deployer_text, ending, history_view, release_view, sides_view
from shared.contracts.diamond.activities import Action, Activity
from shared.contracts.diamond.stability import Stability
from shared.contracts.release_steps import Kind, Step
from shared.contracts.releases import Finding, Passed, Release, SideState, Verdict
from shared.contracts.sides import (
    SILENT_MS,
    DeployerStatus,
    Sides,
    deployer_status,
    lone_side,
    seen_side,
)
from tests.harness.fake_world import DARK as OTHER
from tests.harness.fake_world import LIGHT as SERVING
from tests.harness.fake_world import OLD
from tests.harness.release_world import ReleaseWorld

T0 = 1_800_000_000_000
RELEASE = Release(
    number=1,
    kind=Kind.DEPLOY,
    version="2.0",
    step=Step.WATCH,
    reached=Step.WATCH,
    since_ms=T0 + 60_000,
    asked_by="ann",
    asked_ms=T0,
    target="green",
    former="blue",
    former_version="1.0",
    said="1 of 3 minutes",
    log=[Passed(step=Step.CANARY, since_ms=T0, until_ms=T0 + 60_000, said="green 10 %, blue 90 %")],
    verdicts=[Verdict(finding=Finding.EARLY, words=["1 of 3 minutes"])],
)


UNDONE = replace(
    RELEASE,
    step=Step.UNDONE,
    log=[*RELEASE.log, Passed(step=Step.LAY_DOWN, since_ms=T0 + 60_000, until_ms=T0 + 70_000)],
)


def text(shown: RenderableType) -> str:
    console = Console(file=io.StringIO(), width=200)
    console.print(shown)
    assert isinstance(console.file, io.StringIO)
    return re.sub(r" +", " ", console.file.getvalue())


def test_a_release_shows_what_is_over_what_it_does_and_what_is_to_come() -> None:
    shown = text(release_view(replace(RELEASE, waits=["green: not stable"]), T0 + 90_000))
    assert "deploy 2.0 on green, asked for by ann" in shown
    named = text(release_view(replace(RELEASE, canary_tenants=["acme", "globex"]), T0 + 90_000))
    assert "deploy 2.0 on green, first for acme, globex, asked for by ann" in named
    assert "canary 2027-01-15 08:00:00 1m00s green 10 %, blue 90 %" in shown
    assert "watch 2027-01-15 08:01:00 30s 1 of 3 minutes" in shown
    assert shown.index("half") > shown.index("watch 2027")
    assert "waits: green: not stable" in shown
    assert "watch: too early to say" in shown


def test_a_release_that_goes_back_shows_why_and_no_steps_forward() -> None:
    shown = text(release_view(replace(RELEASE, step=Step.STOP, back="5 events are lost"), T0 + 90_000))
    assert "undone: 5 events are lost" in shown
    assert "bake" not in shown


def test_a_releases_end_names_the_serving_version_and_its_side() -> None:
    assert ending(replace(RELEASE, step=Step.DONE), T0 + 90_000) == "done in 1m30s: 2.0 on green"
    undone = replace(UNDONE, back="5 events are lost")
    assert ending(undone, T0 + 90_000) == "undone after 1m30s: 5 events are lost; 1.0 serves on blue"
    assert ending(replace(RELEASE, step=Step.DRAIN), T0 + 90_000) == (
        "serves after 1m30s: 2.0 on green; drain goes on"
    )
    assert "; 1.0 serves on blue" in ending(replace(undone, step=Step.STOP), T0 + 90_000)


@pytest.mark.parametrize(
    "ended",
    [
        replace(RELEASE, kind=Kind.ROLLBACK, reached=Step.PREFLIGHT, log=[]),
        replace(RELEASE, kind=Kind.BURST_OFF, reached=Step.PREFLIGHT, log=[]),
        RELEASE,
        *(
            replace(RELEASE, kind=kind, reached=Step.START, log=[])
            for kind in (Kind.DEPLOY, Kind.SWITCH, Kind.BURST)
        ),
    ],
    ids=[
        "a rollback after the traffic moved",
        "the end of a burst",
        "traffic moved by hand",
        *(
            f"traffic moved by hand before a {kind} has started its code"
            for kind in ("deploy", "switch", "burst")
        ),
    ],
)
def test_without_a_step_back_it_names_no_side_that_serves(ended: Release) -> None:
    last = Passed(step=ended.reached, since_ms=T0, until_ms=T0)
    said = ending(replace(ended, step=Step.UNDONE, log=[*ended.log, last], back="moved"), T0 + 90_000)
    assert said == "undone after 1m30s: moved; the traffic is left as it was; `hifi sides` shows where"


def test_a_release_that_traffic_moved_by_hand_ended_names_no_side_that_serves() -> None:
    world = ReleaseWorld()
    world.ask(Kind.DEPLOY, "2.0")
    world.until(lambda release: release.step is Step.START)
    world.place.world.shares = {SERVING: 0, OTHER: 100}
    said = ending(world.ended(), world.now_ms)
    assert said.endswith("; the traffic is left as it was; `hifi sides` shows where")


def test_a_release_that_was_refused_says_that_the_former_version_serves() -> None:
    world = ReleaseWorld()
    world.ask(Kind.DEPLOY, "missing")
    assert ending(world.ended(), world.now_ms).endswith(f"; {OLD} serves on {SERVING}")


def test_what_a_release_left_unfinished_is_shown_with_its_end() -> None:
    undone = replace(UNDONE, back="5 events are lost", unfinished="1.0 is gone")
    assert ending(undone, T0 + 90_000).endswith("; 1.0 serves on blue; 1.0 is gone")
    asleep = replace(undone, log=[Passed(step=Step.WAKE, since_ms=T0, until_ms=T0)])
    assert ending(asleep, T0 + 90_000).endswith("; 2.0 serves on green; 1.0 is gone")
    assert ending(replace(RELEASE, step=Step.DONE, unfinished="1.0 is gone"), T0).endswith("; 1.0 is gone")
    assert "unfinished: 1.0 is gone" in text(release_view(undone, T0))
    assert "5 events are lost; 1.0 is gone" in text(history_view([undone]))


ACTS = Activity(
    id="1", action=Action.STEP_FORWARD, reason="deploy 2.0", phase="canary", owner="x", fence=1, since_ms=T0,
    lease_seconds=15,
)  # fmt: skip
LIGHT = SideState(
    side="blue", at_ms=T0, version="1.0", parked=False, share=90, stable=True, unread=1_200, waiting=3,
    rating=10_000, rating_p95_ms=480,
)  # fmt: skip
DARK = SideState(side="green", at_ms=T0, problem="brokers do not answer")


def test_both_sides_are_shown_with_units_and_with_who_acts() -> None:
    shown = text(sides_view([replace(seen_side(LIGHT), activities=[ACTS]), seen_side(DARK)]))
    assert "blue 1.0 90 % stable 1,200 records 3 events 10,000 events/s, p95 480 ms" in shown
    assert "deployer: step forward (deploy 2.0, canary)" in shown
    assert (
        "green none 0 % not known not known 0 events not known 2027-01-15 08:00:00 brokers do not answer"
        in shown
    )


def test_a_commit_is_shown_by_its_beginning() -> None:
    commit = "0123456789ab" + 28 * "c"
    release = replace(RELEASE, version=commit)
    state = SideState(side="blue", at_ms=T0, version=commit)
    shown = [
        text(sides_view([seen_side(state)])),
        text(release_view(release, T0)),
        text(history_view([release])),
        ending(replace(release, step=Step.DONE), T0),
    ]
    for each in shown:
        assert "0123456789ab " in each and commit not in each


def test_a_side_without_a_deployer_is_shown_with_what_is_not_known() -> None:
    health = Stability(stable=False, reasons=["the meter is 90 s behind"], at_ms=T0)
    shown = text(sides_view([lone_side("local", health, T0 + 1)]))
    assert "local not known not known not stable not known not known not known 2027-01-15 08:00:00" in shown
    assert "the meter is 90 s behind" in shown


def test_what_a_silent_deployer_saw_last_is_said_to_be_old() -> None:
    states, none = (
        [LIGHT, replace(DARK, at_ms=T0 - 1)],
        Sides(at_ms=T0, deployer=DeployerStatus.NONE, sides=[], release=None, ended=[]),
    )
    assert [deployer_status(states, T0 + past) for past in (0, SILENT_MS, SILENT_MS + 1)] == [
        DeployerStatus.RUNS, DeployerStatus.RUNS, DeployerStatus.SILENT,
    ]  # fmt: skip
    assert deployer_status([], T0) is DeployerStatus.NONE
    silent = replace(none, deployer=DeployerStatus.SILENT, sides=[seen_side(each) for each in states])
    assert "silent since 2027-01-15 08:00:00" in deployer_text(silent)
    assert "speaks for itself" in deployer_text(none)


def test_the_last_releases_say_why_they_ended() -> None:
    ended = replace(RELEASE, step=Step.UNDONE, back="5 events are lost")
    assert "1 deploy 2.0 ann 2027-01-15 08:00:00 undone 5 events are lost" in text(history_view([ended]))
