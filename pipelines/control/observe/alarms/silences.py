"""Windows in which alarms are kept, and told to nobody. Pure."""

import hashlib
from collections.abc import Iterable
from typing import Final

import msgspec

from shared.contracts.alarms import Alarm, AlarmKind, QuietWindow
from shared.contracts.scorecard import ALL_TENANTS

_DAY_MS: Final = 24 * 60 * 60_000
LONGEST_DAYS: Final = 30
_REASON_CHARACTERS: Final = 300


class WindowError(ValueError):
    """A window that cannot be taken. `field` names what is wrong, the text says it and the mend."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field


def validated(window: QuietWindow, now_ms: int) -> QuietWindow:
    """The window with an id: the same for the same window.

    Raises:
        WindowError: if it says nothing, or too much.
    """
    if not window.reason.strip():
        raise WindowError("reason", "is empty; say why, for example `deployment of 1.4`")
    if len(window.reason) > _REASON_CHARACTERS:
        raise WindowError("reason", f"is longer than {_REASON_CHARACTERS} characters; shorten it")
    if not window.tenant:
        raise WindowError("tenant", f"is empty; name one, or {ALL_TENANTS} for all")
    if window.until_ms <= window.from_ms:
        raise WindowError("until_ms", "is not after from_ms; give a later time, epoch milliseconds")
    if window.until_ms <= now_ms:
        raise WindowError("until_ms", "is over already; give a later time, epoch milliseconds")
    if window.until_ms - window.from_ms > LONGEST_DAYS * _DAY_MS:
        raise WindowError("until_ms", f"is more than {LONGEST_DAYS} days after from_ms; give an earlier time")
    digest = hashlib.sha256(msgspec.msgpack.encode(msgspec.structs.replace(window, id="")))
    return msgspec.structs.replace(window, id=digest.hexdigest()[:12])


def quiet_reason(windows: Iterable[QuietWindow], alarm: Alarm, now_ms: int) -> str:
    """Why an alarm is told to nobody now; empty where it is told."""
    return next((window.reason for window in windows if _covers(window, alarm, now_ms)), "")


def _covers(window: QuietWindow, alarm: Alarm, now_ms: int) -> bool:
    """Proven loss only where it is named."""
    named = alarm.kind in window.kinds if window.kinds else alarm.kind != AlarmKind.LOSS
    whose = window.tenant in (ALL_TENANTS, alarm.tenant)
    return named and whose and window.from_ms <= now_ms < window.until_ms
