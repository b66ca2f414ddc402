"""Whether a side is stable, as observe says it. Pure."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from msgspec import Struct

from shared.contracts.alarms import Alarm, AlarmKind
from shared.contracts.documents import OWN_TENANTS
from shared.contracts.scorecard import MinuteCard

UNSTABLE: Final = frozenset({AlarmKind.LOSS, AlarmKind.DOUBLED, AlarmKind.STALLED, AlarmKind.BURN})
"""A side with an open alarm of one of these kinds is not stable, even in a quiet window. The exception is a
window that names losses: only an operator makes one, and knows of the loss."""

_UNSETTLED: Final = frozenset({AlarmKind.LOSS, AlarmKind.DOUBLED})

GOOD_MINUTES: Final = 3
"""So many of the last minutes have to be good."""

_EVIDENCE: Final[Mapping[AlarmKind, Callable[[MinuteCard], bool]]] = {
    AlarmKind.LOSS: lambda card: card.lost > 0,
    AlarmKind.DOUBLED: lambda card: card.doubled > 0,
    AlarmKind.BURN: lambda card: card.slow_side,
}
"""Alarms about minutes that are over, and which minutes they are about."""


class Stability(Struct, frozen=True, kw_only=True):
    """Whether actors may go on."""

    stable: bool
    reasons: Sequence[str] = ()
    """Why it is not, a sentence each."""

    unsettled: Sequence[str] = ()
    """The reasons that a side without traffic has to settle before it is parked: losses, doubles, a meter
    that is behind. Having been slow while it had traffic is not one of them."""

    silent: bool = False
    """Whether nothing is known, as when observe does not answer; it is not stable then."""

    at_ms: int = 0
    """When it was judged, epoch milliseconds."""


SILENT: Final = Stability(stable=False, reasons=("observe does not answer",), silent=True)
"""The stability that an actor assumes without an answer."""


def stability(
    alarms: Iterable[Alarm], minutes: Iterable[MinuteCard], behind_seconds: float, *, behind: bool, at_ms: int
) -> Stability:
    """Judge a side.

    Args:
        alarms: those that are open.
        minutes: cards of the customers, of the last GOOD_MINUTES that the meter has read whole.
        behind_seconds: how far the meter is behind.
        behind: whether that is too far.
        at_ms: now, epoch milliseconds.
    """
    listed = [each for each in alarms if each.kind in UNSTABLE and not _is_set_aside(each)]
    meter = [f"the meter is {behind_seconds:.0f} s behind"] if behind else []
    reasons = [_text(each) for each in listed]
    reasons += [
        f"minute {each.minute} of {each.tenant}: {'; '.join(each.why)}"
        for each in minutes
        if each.spent and (each.lost or each.slow_side)
    ]
    unsettled = [_text(each) for each in listed if each.kind in _UNSETTLED]
    return Stability(
        stable=not reasons and not meter,
        reasons=(*reasons, *meter),
        unsettled=(*unsettled, *meter),
        at_ms=at_ms,
    )


def about_the_side(alarms: Iterable[Alarm], cards: Callable[[Alarm], Iterable[MinuteCard]]) -> list[Alarm]:
    """Open alarms without those on minutes that were slow only because destinations failed.

    Among many customers some destination is always down: there would never be a release.

    Args:
        alarms: those that are open.
        cards: of an alarm, the cards of its tenant's minutes that it may be about.
    """
    return [each for each in alarms if each.kind is not AlarmKind.BURN or _is_raised_by(each, cards(each))]


def raised_by(alarms: Iterable[Alarm], cards: Callable[[Alarm], Iterable[MinuteCard]]) -> list[Alarm]:
    """The open alarms that some of these minutes caused, and those about the present.

    An alarm stays open long after its cause. Code that runs now is not blamed for what a side did with other
    code.

    Args:
        alarms: those that are open.
        cards: of an alarm, the cards of its tenant's minutes among these.
    """
    return [each for each in alarms if _is_raised_by(each, cards(each))]


def _is_raised_by(alarm: Alarm, cards: Iterable[MinuteCard]) -> bool:
    evidence = _EVIDENCE.get(alarm.kind)
    return evidence is None or any(map(evidence, cards))


def settled(found: Stability) -> Stability:
    """The same for a side without traffic: stable if nothing is left to settle."""
    if found.silent:
        return found
    return Stability(stable=not found.unsettled, reasons=found.unsettled, at_ms=found.at_ms)


def _is_set_aside(alarm: Alarm) -> bool:
    """Whether it is about a loss that an operator knows of, or a slow minute of hifi's own few events.

    Only a window that names losses covers one, see `QuietWindow`. One slow request spends a minute of the
    canary's, to whom nothing is promised: customers' events are the measure of how fast a side is.
    """
    if alarm.kind is AlarmKind.LOSS:
        return bool(alarm.quiet)
    return alarm.kind is AlarmKind.BURN and alarm.tenant in OWN_TENANTS


def _text(alarm: Alarm) -> str:
    return f"alarm {alarm.kind}: {alarm.text}"
