"""Texts on the page of both sides."""

import re

from msgspec.structs import replace

from pipelines.management.console.pages.sides_view import (
    actors_table,
    deployer_note,
    ended_table,
    release_part,
    sides_table,
)
from shared.contracts.release_steps import Kind, Step
from shared.contracts.releases import Passed, Release, SideState
from shared.contracts.sides import DeployerStatus, SideReport, Sides, seen_side

T0 = 1_800_000_000_000
RELEASE = Release(
    number=3, kind=Kind.DEPLOY, version="2.0", step=Step.WATCH, reached=Step.WATCH, since_ms=T0 + 60_000,
    asked_by="ann", asked_ms=T0, target="green", former="blue", former_version="1.0", said="1 of 3 minutes",
    log=[Passed(step=Step.CANARY, since_ms=T0, until_ms=T0 + 60_000, said="10 %")],
)  # fmt: skip


def words(markup: str) -> str:
    return re.sub(r"\s*(<[^>]+>\s*)+", " | ", markup)


def test_a_release_shows_what_is_over_what_it_does_and_what_is_to_come() -> None:
    said = words(release_part(RELEASE, T0 + 90_000))
    assert "under way | Number 3: deploy 2.0 on green, asked for by ann at 2027-01-15 08:00:00 UTC" in said
    assert "canary | over | 1 min | 2027-01-15 08:00:00 | 10 %" in said
    assert "watch | now | 30 s | 2027-01-15 08:01:00 | 1 of 3 minutes" in said
    assert said.index("half | to come") > said.index("watch | now")


def test_a_release_that_goes_back_says_why_and_shows_no_steps_forward() -> None:
    said = words(release_part(replace(RELEASE, step=Step.STOP, back="5 events are lost"), T0 + 90_000))
    assert "being undone" in said and "Undone, because | 5 events are lost" in said
    assert "bake" not in said
    ended = replace(RELEASE, step=Step.UNDONE, back="5 events are lost", waits=["green: busy"])
    assert "ended: undone" in words(release_part(ended, T0)) and "busy" not in words(release_part(ended, T0))


def test_what_a_release_left_unfinished_is_said_with_its_end() -> None:
    ended = replace(RELEASE, step=Step.UNDONE, back="5 events are lost", unfinished="1.0 is gone")
    assert "Unfinished | 1.0 is gone" in words(release_part(ended, T0))
    assert "5 events are lost; 1.0 is gone" in words(ended_table([ended]))


def test_a_side_says_its_state_in_words_and_why() -> None:
    dark = seen_side(SideState(side="green", at_ms=T0))
    away = seen_side(SideState(side="blue", at_ms=T0, problem="brokers do not answer"))
    said = words(sides_table([dark, away, SideReport(side="local", at_ms=T0, stable=True)]))
    assert "green | parked | 0 % | none | not known | 0 events | not known" in said
    assert "blue | not known |" in said and "blue could not be asked | brokers do not answer" in said
    assert "local | stable | not known | not known | not known | not known | not known" in said


def test_where_nothing_is_there_it_says_so() -> None:
    assert "No activity is under way, and none waits." in actors_table([])
    assert "No release yet" in release_part(None, T0)
    assert "No release has ended" in ended_table([])
    silent = Sides(
        at_ms=T0 + 90_000, deployer=DeployerStatus.SILENT, sides=[SideReport(side="blue", at_ms=T0)],
        release=None, ended=[],
    )  # fmt: skip
    assert "silent since 2027-01-15 08:00:00 UTC" in deployer_note(silent)
