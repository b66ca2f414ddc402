"""Whether customers' events wait in the chain, and how long they still will. Pure.

They warm the chain up as well as a synthetic load does, which would only delay them further.
"""

from collections import deque
from dataclasses import dataclass
from typing import Final

_BEHIND_MS: Final = 1_000
"""A chain is behind if an event takes longer than hifi promises."""

_KEPT: Final = 10
"""Looks that an estimate is made of."""


@dataclass(frozen=True, kw_only=True)
class Look:
    """The figures of the chain at one moment."""

    at: float
    """Seconds, on any clock."""

    collected: int
    """Records that collect has written so far, one for each request from any sender."""

    answered: int
    """Requests of the warm-up that collect has answered. What it refused for want of an acknowledgement may
    have been written all the same."""

    sent: int
    """The same, and those that it has not answered."""

    lag_ms: int
    """How long the warm-up's latest event took from end to end."""


class Backlog:
    """Follows the looks of one warm-up."""

    def __init__(self) -> None:
        self._looks: deque[Look] = deque(maxlen=_KEPT)

    def take(self, look: Look) -> None:
        """Add a later look."""
        self._looks.append(look)

    @property
    def waits(self) -> bool:
        """Whether others' events are in the chain, and it is behind."""
        if len(self._looks) < 2:
            return False
        first, last = self._looks[0], self._looks[-1]
        others = last.collected - first.collected - (last.sent - first.answered)
        return others > 0 and last.lag_ms > _BEHIND_MS

    @property
    def seconds_left(self) -> float | None:
        """Until the chain has caught up, if it goes on as over the last looks; None if it falls back."""
        if len(self._looks) < 2:
            return None
        first, last = self._looks[0], self._looks[-1]
        caught_up = first.lag_ms - last.lag_ms
        return last.lag_ms * (last.at - first.at) / caught_up if caught_up > 0 else None
