"""Minutes of a customer by the cards of both sides."""

from collections.abc import Iterable, Sequence

from shared.contracts.counts import summed
from shared.contracts.scorecard import MinuteFigures


def spent_together(cards: Iterable[MinuteFigures]) -> Sequence[int]:
    """Minutes that broke a promise by the cards of both sides added up, as the customer met them. Pure."""
    by_minute: dict[int, list[MinuteFigures]] = {}
    for card in cards:
        by_minute.setdefault(card.minute, []).append(card)
    return sorted(minute for minute, found in by_minute.items() if summed(found).broken)
