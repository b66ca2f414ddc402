"""An activity keeps lag alarms quiet while it lasts and until its last minute is judged, and never a loss."""

from pipelines.control.observe.alarms.silences import AFTER_MS, activity_windows, quiet_reason
from shared.contracts.alarms import Alarm, AlarmKind, Audience
from shared.contracts.diamond.activities import Action, Activity


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
    assert activity_windows((), [activity(Action.PUBLISH), activity(Action.RAMP_STEP)], 0) == ()
    disturbing = [Action.REPLACE_CODE, Action.STEP_BACK, Action.SCALE_OUT, Action.SCALE_IN, Action.MAINTAIN]
    assert all(activity_windows((), [activity(action)], 0) for action in disturbing)
