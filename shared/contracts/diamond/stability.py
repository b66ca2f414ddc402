"""Whether a side is stable, as observe says it. Pure."""

from collections.abc import Iterable, Sequence
from typing import Final

from msgspec import Struct

from shared.contracts.alarms import Alarm, AlarmKind
from shared.contracts.scorecard import MinuteCard

UNSTABLE: Final = frozenset({AlarmKind.LOSS, AlarmKind.DOUBLED, AlarmKind.STALLED, AlarmKind.BURN})
"""A side with an open alarm of one of these kinds is not stable, in a quiet window neither."""

GOOD_MINUTES: Final = 3
"""So many of the last minutes have to be good."""


class Stability(Struct, frozen=True, kw_only=True):
    """Whether actors may go on."""

    stable: bool
    reasons: Sequence[str] = ()
    """Why it is not, a sentence each."""

    silent: bool = False
    """Whether nobody could be asked: then nothing is known, and it is not stable."""

    at_ms: int = 0
    """When it was judged, epoch milliseconds."""


SILENT: Final = Stability(stable=False, reasons=("observe does not answer",), silent=True)
"""What an actor assumes without an answer."""


def stability(
    alarms: Iterable[Alarm], minutes: Iterable[MinuteCard], behind_seconds: float, *, behind: bool, at_ms: int
) -> Stability:
    """Judge a side.

    Args:
        alarms: those that are open.
        minutes: cards of all tenants together, of the last GOOD_MINUTES that the meter has read whole.
        behind_seconds: how far the meter is behind.
        behind: whether that is too far.
        at_ms: now, epoch milliseconds.
    """
    reasons = [f"alarm {each.kind}: {each.text}" for each in alarms if each.kind in UNSTABLE]
    reasons += [f"minute {each.minute}: {'; '.join(each.why)}" for each in minutes if each.spent]
    if behind:
        reasons.append(f"the meter is {behind_seconds:.0f} s behind")
    return Stability(stable=not reasons, reasons=tuple(reasons), at_ms=at_ms)
