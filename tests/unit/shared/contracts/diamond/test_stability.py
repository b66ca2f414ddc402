"""Alarms and minutes that count against a serving side, or against one that is to be parked."""

from collections.abc import Callable, Iterable

import pytest
from msgspec.structs import replace

from shared.contracts.alarms import Alarm, AlarmKind, Audience
from shared.contracts.diamond.stability import (
    SILENT,
    UNSTABLE,
    about_the_side,
    raised_by,
    settled,
    stability,
)
from shared.contracts.documents import CANARY
from shared.contracts.scorecard import MinuteCard

Counted = Callable[[Iterable[Alarm], Callable[[Alarm], Iterable[MinuteCard]]], list[Alarm]]


def alarm(kind: AlarmKind, quiet: str = "") -> Alarm:
    return Alarm(
        id="1",
        tenant="acme",
        kind=kind,
        audience=Audience.OPERATOR,
        subject="fast",
        text="why",
        opened_ms=1,
        updated_ms=1,
        quiet=quiet,
    )


@pytest.mark.parametrize("kind", sorted(UNSTABLE))
def test_a_side_without_traffic_answers_for_losses_and_doubles_and_not_for_having_been_slow(
    kind: AlarmKind,
) -> None:
    found = stability([alarm(kind)], [], 0, behind=False, at_ms=7)
    assert not found.stable
    assert settled(found).stable == (kind in (AlarmKind.STALLED, AlarmKind.BURN))
    assert settled(found).at_ms == 7


@pytest.mark.parametrize("kind", sorted(UNSTABLE))
def test_a_canary_that_was_slow_is_not_held_against_its_side_and_one_that_lost_events_is(
    kind: AlarmKind,
) -> None:
    of_the_canary = replace(alarm(kind), tenant=CANARY)
    found = stability([of_the_canary], [], 0, behind=False, at_ms=7)
    assert found.stable == (kind is AlarmKind.BURN)


def test_a_side_without_traffic_waits_for_its_meter() -> None:
    found = settled(stability([], [], 42, behind=True, at_ms=7))
    assert (found.stable, found.reasons) == (False, ("the meter is 42 s behind",))
    assert settled(SILENT) == SILENT


@pytest.mark.parametrize("kind", sorted(UNSTABLE))
def test_of_what_is_in_a_quiet_window_only_an_acknowledged_loss_does_not_count(kind: AlarmKind) -> None:
    found = stability([alarm(kind, quiet="known: version 1.4")], [], 0, behind=False, at_ms=7)
    assert found.stable == (kind is AlarmKind.LOSS)


@pytest.mark.parametrize(
    ("kind", "bad"),
    [
        (AlarmKind.LOSS, MinuteCard(tenant="acme", minute=7, settled=True, total=9, lost=1)),
        (AlarmKind.DOUBLED, MinuteCard(tenant="acme", minute=7, settled=True, total=9, doubled=1)),
        (AlarmKind.BURN, MinuteCard(tenant="acme", minute=7, settled=True, total=9, good=2)),
    ],
)
def test_an_alarm_about_minutes_that_do_not_count_is_left_out(kind: AlarmKind, bad: MinuteCard) -> None:
    good = MinuteCard(tenant="acme", minute=8, settled=True, total=9, good=9)
    held = {"acme": [good], "other": [bad]}
    assert raised_by([alarm(kind)], lambda alarm: held[alarm.tenant]) == []
    held["acme"].append(bad)
    assert raised_by([alarm(kind)], lambda alarm: held[alarm.tenant]) == [alarm(kind)]


HELD_UP = MinuteCard(tenant="acme", minute=7, settled=True, total=9, good=2, held_up=7, spent=True)


def test_minutes_that_failing_destinations_spend_are_not_held_against_the_side() -> None:
    assert stability([], [HELD_UP], 0, behind=False, at_ms=7).stable
    slow_too = replace(HELD_UP, good=1, held_up=7)
    assert not stability([], [slow_too], 0, behind=False, at_ms=7).stable
    lost_too = replace(HELD_UP, total=10, lost=1)
    assert not stability([], [lost_too], 0, behind=False, at_ms=7).stable


@pytest.mark.parametrize("counted", [about_the_side, raised_by])
def test_an_alarm_about_minutes_that_failing_destinations_spent_is_left_out(counted: Counted) -> None:
    assert counted([alarm(AlarmKind.BURN)], lambda _: [HELD_UP]) == []
    slow_too = replace(HELD_UP, minute=8, held_up=0)
    assert counted([alarm(AlarmKind.BURN)], lambda _: [HELD_UP, slow_too]) == [alarm(AlarmKind.BURN)]


@pytest.mark.parametrize("kind", sorted(UNSTABLE - {AlarmKind.BURN}))
def test_a_loss_of_a_minute_that_is_held_no_more_still_counts(kind: AlarmKind) -> None:
    assert about_the_side([alarm(kind)], lambda _: []) == [alarm(kind)]


def test_an_alarm_about_the_present_counts_whatever_the_minutes_were() -> None:
    assert raised_by([alarm(AlarmKind.STALLED)], lambda _: []) == [alarm(AlarmKind.STALLED)]
