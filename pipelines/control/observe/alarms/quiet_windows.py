"""Quiet windows: alarms are recorded but not sent. Pure."""

import hashlib
from collections.abc import Iterable
from typing import Final

import msgspec

from shared.contracts.alarms import Alarm, AlarmKind, QuietWindow
from shared.contracts.diamond.activities import Activity, Actor, shown_activity
from shared.contracts.envelope import DAY_MS
from shared.contracts.scorecard import ALL_TENANTS
from shared.contracts.timeline import ActivitySpan

LONGEST_DAYS: Final = 30
FURTHEST_DAYS: Final = 3_650
_FURTHEST_MS: Final = FURTHEST_DAYS * DAY_MS
_REASON_CHARACTERS: Final = 300


AFTER_MS: Final = 5 * 60_000
"""An activity's window stays open for so long: its last minute is judged that much later."""

LAG_KINDS: Final = (AlarmKind.BURN, AlarmKind.STALLED, AlarmKind.BACKLOG, AlarmKind.SILENT)
"""Kinds of alarms that an activity may cause for a while; it may not cause loss or doubles."""

_DISTURBING: Final = frozenset({Actor.DEPLOYER, Actor.AUTOSCALER, Actor.MAINTENANCE})


class WindowError(ValueError):
    """A quiet window is not valid. `field` names the member; the text gives the problem and the fix."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field


def validated(window: QuietWindow, now_ms: int) -> QuietWindow:
    """The window with its id, which is a hash of the rest.

    Raises:
        WindowError: if a member is missing, too long or contradicts another.
    """
    if not window.reason.strip():
        raise WindowError("reason", "is empty; say why, for example `deployment of 1.4`")
    if len(window.reason) > _REASON_CHARACTERS:
        raise WindowError("reason", f"is longer than {_REASON_CHARACTERS} characters; shorten it")
    if not window.tenant:
        raise WindowError("tenant", f"is empty; name one, or {ALL_TENANTS} for all")
    if window.until_ms > now_ms + _FURTHEST_MS:
        raise WindowError(
            "until_ms", f"is more than {FURTHEST_DAYS} days from now; give milliseconds, not microseconds"
        )
    if window.from_ms < 0:
        raise WindowError("from_ms", "is before 1970; give epoch milliseconds")
    if window.until_ms <= window.from_ms:
        raise WindowError("until_ms", "is not after from_ms; give a later time, epoch milliseconds")
    if window.until_ms <= now_ms:
        raise WindowError("until_ms", "is over already; give a later time, epoch milliseconds")
    if window.until_ms - window.from_ms > LONGEST_DAYS * DAY_MS:
        raise WindowError("until_ms", f"is more than {LONGEST_DAYS} days after from_ms; give an earlier time")
    digest = hashlib.sha256(msgspec.msgpack.encode(msgspec.structs.replace(window, id="")))
    return msgspec.structs.replace(window, id=digest.hexdigest()[:12])


def activity_windows(
    before: Iterable[QuietWindow], activities: Iterable[Activity], now_ms: int
) -> tuple[QuietWindow, ...]:
    """A window for each activity that may disturb the side, and those of activities that ended just now.

    Args:
        before: the windows of the last call.
        activities: what is under way.
        now_ms: now, epoch milliseconds.
    """
    windows = {window.id: _not_ahead(window, now_ms) for window in before if window.until_ms > now_ms}
    for each in activities:
        if each.actor in _DISTURBING:
            name = f"activity-{each.id}"
            began_ms = windows[name].from_ms if name in windows else now_ms
            windows[name] = _window(name, began_ms, now_ms, str(each))
    return tuple(windows.values())


def windows_of_spans(spans: Iterable[ActivitySpan], now_ms: int) -> tuple[QuietWindow, ...]:
    """The windows that a former process had of activities that may disturb the side.

    Args:
        spans: its record of who acted, each with its end.
        now_ms: now, epoch milliseconds.
    """
    windows: dict[str, QuietWindow] = {}
    for each in sorted(spans, key=lambda span: span.from_ms):
        seen_ms = now_ms if each.until_ms is None else min(each.until_ms, now_ms)
        if each.actor in _DISTURBING and seen_ms + AFTER_MS > now_ms:
            name = f"activity-{each.id}"
            began_ms = windows[name].from_ms if name in windows else min(each.from_ms, now_ms)
            said = shown_activity(each.action, each.reason, each.phase)
            windows[name] = _window(name, began_ms, seen_ms, said)
    return tuple(windows.values())


def _window(name: str, began_ms: int, seen_ms: int, reason: str) -> QuietWindow:
    return QuietWindow(
        id=name, kinds=list(LAG_KINDS), from_ms=began_ms, until_ms=seen_ms + AFTER_MS, reason=reason
    )


def _not_ahead(window: QuietWindow, now_ms: int) -> QuietWindow:
    """An activity's window as it can be now: what is later is of a clock that was set back since."""
    from_ms, until_ms = min(window.from_ms, now_ms), min(window.until_ms, now_ms + AFTER_MS)
    return msgspec.structs.replace(window, from_ms=from_ms, until_ms=until_ms)


def quiet_reason(windows: Iterable[QuietWindow], alarm: Alarm, now_ms: int) -> str:
    """The reason of the quiet window that covers an alarm now; empty if none does."""
    return next((window.reason for window in windows if _covers(window, alarm, now_ms)), "")


def _covers(window: QuietWindow, alarm: Alarm, now_ms: int) -> bool:
    """A window covers loss alarms only if it names that kind."""
    named = alarm.kind in window.kinds if window.kinds else alarm.kind != AlarmKind.LOSS
    tenant = window.tenant in (ALL_TENANTS, alarm.tenant)
    return named and tenant and window.from_ms <= now_ms < window.until_ms
