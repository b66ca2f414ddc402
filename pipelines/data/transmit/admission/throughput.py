"""What a destination of the slow lane has lately shown that it can take, measured over its turns. Pure.

As in BBR congestion control the events that may be under way are rate times the shortest answer, with some
headroom. The rate alone would not do: of a destination that answers eight requests at once after 3 s each,
fewer would be under way each time, and its rate would fall because of that.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from pipelines.data.transmit.connectors.base import Answer
from shared.contracts.http_statuses import RETRYABLE

_HEADROOM: Final = 1.25
_PROBED_EVERY: Final = 8
"""One turn of so many tries one request more, since headroom of less than a request changes nothing."""

_LEAST_SECONDS: Final = 0.001


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnResult:
    """What became of one turn."""

    taken: int
    """Events that the destination took."""

    seconds: float
    """From the beginning of the turn to the last answer."""

    quickest: float | None
    """Seconds of the shortest request of which it took events; None if there was none."""

    limited: bool
    """Whether events were set aside, so that it took as much as it could."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Throughput:
    """What a destination can take."""

    rate: float | None = None
    """Events a second during its turns; None while unknown."""

    quickest: float = 0.0
    """Seconds of its shortest answers lately; 0 while unknown."""

    turns: int = 0
    """Turns that were too short for all its events."""

    @property
    def probing(self) -> bool:
        """Whether its next turn tries one request more."""
        return self.turns % _PROBED_EVERY == _PROBED_EVERY - 1


def allowance(known: Throughput, window: float) -> float:
    """Events that it is given side by side in a turn of `window` seconds; infinite if its rate is unknown."""
    if known.rate is None:
        return float("inf")
    return _HEADROOM * known.rate * max(window, known.quickest)


def after_turn(known: Throughput, result: TurnResult) -> Throughput:
    """What is known after a turn.

    A higher rate counts at once: it was shown. A lower one counts by half, and only if more events were there
    to take.
    """
    quickest = known.quickest if result.quickest is None else _nearer(known.quickest, result.quickest)
    rate, turns = _rate(known.rate, result), known.turns + result.limited
    return Throughput(rate=rate, quickest=quickest, turns=turns)


def _rate(known: float | None, result: TurnResult) -> float | None:
    shown = result.taken / max(result.seconds, _LEAST_SECONDS)
    if known is None:
        return shown if result.limited else None
    if shown >= known or not result.limited:
        return max(known, shown)
    return (known + shown) / 2


def _nearer(known: float, shown: float) -> float:
    """A shorter answer counts at once, a longer one by half: it may have waited for others."""
    return shown if not known or shown < known else (known + shown) / 2


def taken(answers: Sequence[Answer]) -> int:
    """Events of a request that the destination took, refused ones included: it has no more work with them."""
    return sum(1 for each in answers if each.status is not None and _is_final(each.status))


def _is_final(status: int) -> bool:
    return status < 500 and status not in RETRYABLE
