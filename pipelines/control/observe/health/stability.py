"""Whether a side is stable: what rollouts, and later releases, wait for. Pure."""

from collections.abc import Iterable, Iterator
from typing import Final

from pipelines.control.observe.health.snapshot import Snapshot
from shared.contracts.alarms import Alarm, AlarmKind
from shared.contracts.scorecard import ALL_TENANTS, Stability

_KINDS: Final = (AlarmKind.LOSS, AlarmKind.DOUBLED, AlarmKind.STALLED, AlarmKind.BURN)
_MINUTES: Final = 3
"""Newest settled minutes that must be good."""

_RECENT: Final = 15
"""Older minutes than this do not count: nothing was sent since."""


def stability(found: Snapshot, open_alarms: Iterable[Alarm]) -> Stability:
    """Whether the side is stable, and if not, why."""
    reasons = [*_reasons(found, open_alarms)]
    return Stability(stable=not reasons, reasons=reasons)


def _reasons(found: Snapshot, open_alarms: Iterable[Alarm]) -> Iterator[str]:
    open_kinds = {alarm.kind for alarm in open_alarms}
    yield from (f"the alarm {kind} is open" for kind in _KINDS if kind in open_kinds)
    if found.behind:
        yield f"the meter is {found.behind_seconds:.0f} s behind"
    newest = found.whole_minute
    cards = (found.card(ALL_TENANTS, minute) for minute in range(newest, newest - _RECENT, -1))
    settled = [card for card in cards if card is not None and card.settled]
    spent = sum(card.spent for card in settled[:_MINUTES])
    if spent:
        yield f"{spent} of the last {_MINUTES} settled minutes did not keep the promise"
