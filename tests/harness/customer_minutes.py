"""Minutes of a customer by the cards of both sides, and those that pass while a test waits."""

from collections.abc import Iterable, Sequence
from typing import Final

from shared.contracts.counts import summed
from shared.contracts.envelope import MINUTE_MS
from shared.contracts.scorecard import MinuteCard
from shared.runtime.clock import wall_clock
from tests.harness.waiting import eventually

_WHOLE_SECONDS: Final = 150


def spent_together(cards: Iterable[MinuteCard]) -> Sequence[int]:
    """Minutes that broke a promise by the cards of both sides added up, as the customer met them. Pure."""
    by_minute: dict[int, list[MinuteCard]] = {}
    for card in cards:
        by_minute.setdefault(card.minute, []).append(card)
    return sorted(minute for minute, found in by_minute.items() if summed(found).broken)


def whole_minutes() -> Sequence[int]:
    """The epoch minutes that pass from beginning to end from now on, once there is one."""
    first = wall_clock() // MINUTE_MS + 1
    eventually(lambda: wall_clock() // MINUTE_MS > first, _WHOLE_SECONDS, "a whole minute passes", every=1)
    return range(first, wall_clock() // MINUTE_MS)
