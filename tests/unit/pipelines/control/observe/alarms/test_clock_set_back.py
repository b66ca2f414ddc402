"""Alarms go on after a clock that was ahead is set back."""

from pipelines.control.observe.alarms.history import History, updated
from pipelines.control.observe.alarms.inputs import Evaluation, Finding
from pipelines.control.observe.alarms.lifecycle import AlarmState, AlarmTiming, step
from pipelines.control.observe.alarms.quiet_windows import AFTER_MS, activity_windows, windows_of_spans
from pipelines.control.observe.alarms.rules import evaluate
from shared.contracts.alarms import AlarmKind
from shared.contracts.diamond.activities import Action, Activity, Actor
from shared.contracts.scorecard import MinuteCard
from shared.contracts.timeline import ActivitySpan
from tests.unit.pipelines.control.observe.alarm_inputs import (
    MINUTE,
    NOW,
    PUBLISHED,
    card,
    found,
    inputs,
    lossy,
    settings,
)

AHEAD = NOW + 3_600_000
RELEASE = Activity(
    id="a", action=Action.REPLACE_CODE, reason="2.0", owner="o", fence=1, since_ms=0, lease_seconds=15
)


def test_a_backlog_that_grows_afterwards_is_an_alarm_as_soon_as_ever() -> None:
    how, history = settings(), History()
    for at_ms in range(AHEAD - 300_000, AHEAD, 5_000):
        history = updated(history, inputs(at_ms=at_ms, waiting={("shop", "orders"): 100}), how)
    for at in range(11 * 12 + 1):
        now = inputs(at_ms=NOW + at * 5_000, waiting={("shop", "orders"): 100 + at})
        history = updated(history, now, how)
    assert [each.kind for each in evaluate(now, history, PUBLISHED, how).findings] == [AlarmKind.BACKLOG]


def test_an_absent_condition_ends_its_alarm_and_a_new_text_is_notified_in_time() -> None:
    timing = AlarmTiming(hold_ms=60_000, relapse_ms=0, update_ms=60_000)
    tracked: dict[str, AlarmState] = {}

    def looked(at_ms: int, *texts: str) -> list[str]:
        nonlocal tracked
        findings = [Finding(kind=AlarmKind.STALLED, subject="route", text=text) for text in texts]
        tracked, transitions = step(tracked, Evaluation(findings=findings), [], timing, at_ms)
        return [each.change.value for each in transitions]

    assert looked(AHEAD, "for 60 s") == ["opened"]
    assert looked(NOW, "for 70 s") == ["updated"]
    assert looked(AHEAD) == []
    assert looked(NOW) == []
    assert looked(NOW + 60_000) == ["resolved"]


def kinds_an_hour_later(before: MinuteCard) -> list[AlarmKind]:
    """Alarms an hour after the clock was set back; it was ahead when this minute was first judged."""
    how = settings(alarm_open_minutes=60)
    history = updated(History(doubled={}), inputs(before, at_ms=AHEAD), how)
    history = updated(history, inputs(before), how)
    return [each.kind for each in found(inputs(before, at_ms=NOW + 3_600_000), history)]


def test_a_loss_and_doubles_that_were_found_by_the_clock_ahead_are_recent_no_longer_than_others() -> None:
    assert AlarmKind.LOSS not in kinds_an_hour_later(lossy(MINUTE))
    assert AlarmKind.DOUBLED not in kinds_an_hour_later(card(MINUTE - 120, doubled=5))


def test_an_activity_that_goes_on_stays_quiet_and_one_that_has_ended_does_not() -> None:
    before = activity_windows((), [RELEASE], AHEAD)
    (going_on,) = activity_windows(before, [RELEASE], NOW)
    assert (going_on.from_ms, going_on.until_ms) == (NOW, NOW + AFTER_MS)
    (ended,) = activity_windows(before, [], NOW)
    assert activity_windows([ended], [], NOW + AFTER_MS) == ()


def test_nor_does_one_that_a_former_process_saw_by_the_clock_ahead() -> None:
    span = ActivitySpan(
        id="a",
        actor=Actor.DEPLOYER,
        action=Action.REPLACE_CODE,
        reason="2.0",
        phase="",
        from_ms=AHEAD - 1,
        until_ms=AHEAD,
    )
    (window,) = windows_of_spans([span], NOW)
    assert (window.from_ms, window.until_ms) == (NOW, NOW + AFTER_MS)
