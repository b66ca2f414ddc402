"""How an alarm opens, changes and is resolved, and when that is notified. Pure."""

import hashlib
from collections.abc import Iterable, Mapping
from typing import Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from pipelines.control.observe.alarms.inputs import Evaluation, Finding, TransitionKind
from pipelines.control.observe.alarms.quiet_windows import quiet_reason
from shared.contracts.alarms import Alarm, Audience, QuietWindow
from shared.runtime.clock import is_over

MOST_RELAPSES: Final = 4
"""Relapses after which the hold time no longer doubles."""


class AlarmTiming(Struct, kw_only=True, frozen=True):
    """How fast alarms change."""

    hold_ms: int
    """How long a condition must be absent before its alarm is resolved; doubles with each relapse."""

    relapse_ms: int
    """A condition that returns within this time reopens its alarm."""

    update_ms: int
    """Shortest time between two notifications of an open alarm."""


class AlarmState(Struct, kw_only=True, frozen=True):
    """An alarm with what is needed to decide its next transition."""

    key: str
    alarm: Alarm
    absent_ms: int | None = None
    """Since when its condition has been absent, epoch milliseconds; None while it holds."""

    notified_text: str | None = msgspec.field(default=None, name="told")
    """Text of the last notification; None before the first one and after the one that resolves it."""

    notified_ms: int = msgspec.field(default=0, name="told_ms")
    relapses: int = 0

    @property
    def open(self) -> bool:
        """Whether the alarm is not resolved."""
        return self.alarm.resolved_ms is None

    @property
    def over(self) -> bool:
        """Whether the alarm is resolved and no notification of it is due."""
        return not self.open and self.notified_text is None

    def encode(self) -> bytes:
        """Serialise for the store."""
        return msgspec.msgpack.encode(self)

    @classmethod
    def decode(cls, value: bytes) -> "AlarmState":
        """Deserialise what `encode` gave.

        Raises:
            msgspec.MsgspecError: if the bytes are not an alarm's state.
        """
        return msgspec.msgpack.decode(value, type=cls)


class Transition(Struct, kw_only=True, frozen=True):
    """A change of an alarm that receivers are notified of."""

    change: TransitionKind
    alarm: Alarm


def step(
    tracked: Mapping[str, AlarmState],
    evaluation: Evaluation,
    windows: Iterable[QuietWindow],
    timing: AlarmTiming,
    now_ms: int,
) -> tuple[dict[str, AlarmState], list[Transition]]:
    """All alarms after a pass, by `Finding.key`, and the transitions to notify.

    A key has one alarm. A condition that returns later than a relapse opens a new alarm in its place.
    """
    findings = {finding.key: finding for finding in evaluation.findings}
    after: dict[str, AlarmState] = {}
    transitions: list[Transition] = []
    windows = list(windows)
    for key in [*tracked, *(key for key in findings if key not in tracked)]:
        now = _next(tracked.get(key), findings.get(key), evaluation, timing, now_ms)
        now = replace(now, alarm=replace(now.alarm, quiet=_quiet(now, windows, now_ms)))
        waits = now.alarm.audience is Audience.CUSTOMER and not evaluation.contacts_known
        after[key], change = (now, None) if waits else _to_send(now, timing, now_ms)
        if change is not None:
            transitions.append(Transition(change=change, alarm=after[key].alarm))
    return after, transitions


def _next(
    before: AlarmState | None,
    finding: Finding | None,
    evaluation: Evaluation,
    timing: AlarmTiming,
    now_ms: int,
) -> AlarmState:
    if finding is not None:
        return _present(before, finding, timing, now_ms)
    if before is None:
        raise AssertionError("a key with neither an alarm nor a finding")
    if not before.open or before.alarm.kind in evaluation.unknown:
        return before
    since = now_ms if before.absent_ms is None else min(before.absent_ms, now_ms)  # a clock may be set back
    if now_ms - since < timing.hold_ms * 2 ** min(before.relapses, MOST_RELAPSES):
        return replace(before, absent_ms=since)
    return replace(
        before, absent_ms=since, alarm=replace(before.alarm, resolved_ms=now_ms, updated_ms=now_ms)
    )


def _present(before: AlarmState | None, finding: Finding, timing: AlarmTiming, now_ms: int) -> AlarmState:
    if before is None:
        return _opened(finding, now_ms)
    alarm = before.alarm
    if alarm.resolved_ms is not None:
        if before.over and now_ms - alarm.resolved_ms > timing.relapse_ms:
            return _opened(finding, now_ms)
        again = replace(_saying(alarm, finding), resolved_ms=None, updated_ms=now_ms)
        return replace(before, alarm=again, absent_ms=None, relapses=before.relapses + 1)
    if alarm.text != finding.text:
        alarm = replace(_saying(alarm, finding), updated_ms=now_ms)
    return replace(before, alarm=alarm, absent_ms=None)


def _saying(alarm: Alarm, finding: Finding) -> Alarm:
    """The alarm with what is found now."""
    return replace(alarm, text=finding.text, cause=finding.cause, fix=finding.fix, document=finding.document)


def _opened(finding: Finding, now_ms: int) -> AlarmState:
    """A new alarm. Its id begins with the time, so that ids sort in order of opening."""
    digest = hashlib.sha256(finding.key.encode()).hexdigest()[:10]
    alarm = Alarm(
        id=f"{now_ms:013d}-{digest}",
        kind=finding.kind,
        audience=finding.audience,
        tenant=finding.tenant,
        subject=finding.subject,
        text=finding.text,
        cause=finding.cause,
        fix=finding.fix,
        document=finding.document,
        opened_ms=now_ms,
        updated_ms=now_ms,
    )
    return AlarmState(key=finding.key, alarm=alarm)


def _quiet(now: AlarmState, windows: Iterable[QuietWindow], now_ms: int) -> str:
    return "" if now.over else quiet_reason(windows, now.alarm, now_ms)


def _to_send(now: AlarmState, timing: AlarmTiming, now_ms: int) -> tuple[AlarmState, TransitionKind | None]:
    """Which notification is due; one suppressed by a quiet window is sent after it if it still applies."""
    if now.alarm.quiet or now.over:
        return now, None
    if not now.open:
        return replace(now, notified_text=None), TransitionKind.RESOLVED
    if now.notified_text is None:
        return replace(now, notified_text=now.alarm.text, notified_ms=now_ms), TransitionKind.OPENED
    if now.notified_text == now.alarm.text or not is_over(now.notified_ms, timing.update_ms, now_ms):
        return now, None
    alarm = replace(now.alarm, updates=now.alarm.updates + 1)
    return replace(now, alarm=alarm, notified_text=alarm.text, notified_ms=now_ms), TransitionKind.UPDATED
