"""An activity silences lag alarms until its last minute is judged, but never a loss."""

from pipelines.control.observe.alarms.quiet_windows import (
    AFTER_MS,
    activity_windows,
    quiet_reason,
    windows_of_spans,
)
from pipelines.control.observe.health.activity_watch import watch
from shared.contracts.alarms import Alarm, AlarmKind, Audience
from shared.contracts.diamond.activities import ACTORS, Action, Activity
from shared.contracts.timeline import ActivitySpan


def activity(action: Action = Action.MAINTAIN) -> Activity:
    return Activity(id="a", action=action, reason="patch", owner="o", fence=1, since_ms=0, lease_seconds=10)


def alarm(kind: AlarmKind) -> Alarm:
    return Alarm(
        id="1",
        kind=kind,
        audience=Audience.OPERATOR,
        tenant="acme",
        subject="route",
        text="",
        opened_ms=0,
        updated_ms=0,
    )


def test_lag_is_quiet_and_everything_else_is_not() -> None:
    windows = activity_windows((), [activity()], 1_000)
    quiet = {kind.value for kind in AlarmKind if quiet_reason(windows, alarm(kind), 1_000)}
    assert quiet == {"burn", "stalled", "backlog", "silent"}


def test_a_window_lasts_as_long_as_its_activity_and_until_its_last_minute_is_judged() -> None:
    began = activity_windows((), [activity()], 1_000)
    later = activity_windows(began, [activity()], 61_000)
    ended = activity_windows(later, [], 62_000)
    assert ended == later
    assert (ended[0].from_ms, ended[0].until_ms) == (1_000, 61_000 + AFTER_MS)
    assert activity_windows(ended, [], 61_000 + AFTER_MS) == ()


def test_steps_of_the_provisioner_open_no_window() -> None:
    assert activity_windows((), [activity(Action.ROLLOUT_STEP)], 0) == ()
    disturbing = [Action.REPLACE_CODE, Action.STEP_BACK, Action.SCALE_OUT, Action.SCALE_IN, Action.MAINTAIN]
    assert all(activity_windows((), [activity(action)], 0) for action in disturbing)


def span(action: Action, phase: str, from_ms: int, until_ms: int) -> ActivitySpan:
    return ActivitySpan(
        id="a",
        actor=ACTORS[action],
        action=action,
        reason="patch",
        phase=phase,
        from_ms=from_ms,
        until_ms=until_ms,
    )


def test_a_restart_keeps_the_window_of_an_activity_that_ended_just_before_it() -> None:
    spans = [
        span(Action.REPLACE_CODE, "start", 1_000, 2_000),
        span(Action.STEP_FORWARD, "park", 2_000, 9_000),
    ]
    watched = watch(None, None, side="blue", clock=lambda: 0, monotonic=lambda: 0)
    assert watched.windows() == ()
    watched.resume(windows_of_spans(reversed(spans), 10_000))
    (window,) = watched.windows()
    assert (window.from_ms, window.until_ms) == (1_000, 9_000 + AFTER_MS)
    assert window.reason == "deployer: step forward (patch, park)"
    assert quiet_reason(watched.windows(), alarm(AlarmKind.STALLED), 10_000)
    assert not quiet_reason(watched.windows(), alarm(AlarmKind.LOSS), 10_000)
    assert not quiet_reason(watched.windows(), alarm(AlarmKind.STALLED), 9_000 + AFTER_MS)


def test_a_restart_opens_no_window_for_what_ended_long_ago_or_disturbs_nothing() -> None:
    assert windows_of_spans([span(Action.MAINTAIN, "", 0, 1_000)], 1_000 + AFTER_MS) == ()
    assert windows_of_spans([span(Action.ROLLOUT_STEP, "", 0, 1_000)], 2_000) == ()
