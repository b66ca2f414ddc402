"""Counts of a minute's or a day's deliveries, and when they break a promise. Pure.

Cards of minutes and days and the burn-rate alarm all use this definition. Every delivery that hifi answers
for and that was not good counts against a minute. hifi answers for the deliveries owed and for second copies
that were sent, but not for those that may still be in time, nor for dead letters that only the customer can
prevent.
"""

from collections.abc import Sequence
from typing import Final

from msgspec import Struct, structs

from shared.contracts.timestamps import DAY_MINUTES

GOOD_SHARE: Final = 0.95
"""Share of the deliveries that hifi answers for that must be good, in each minute."""

BUDGET_SHARE: Final = 0.001
"""Share of a day's minutes that three nines allow to be spent."""

BUDGET_MINUTES: Final = DAY_MINUTES * BUDGET_SHARE
"""Minutes of a day that three nines allow to be spent: 1.44."""


class Counts(Struct, kw_only=True, frozen=True):
    """Counts that can be added over tenants and minutes.

    A new count is a line here, and one in each of the two functions of `minute_cards` that say how it is
    counted and what becomes of it when events are processed again.
    """

    collected: int = 0
    late: int = 0
    unmatched: int = 0
    """Events that no pipe matches: filtered, or outside every sample."""

    total: int = 0
    """Deliveries owed: events times the pipes that take them."""

    good: int = 0
    delivered: int = 0
    dead: int = 0
    customer_dead: int = 0
    """Dead letters that only the customer can prevent, including those replayed since; each event of a pipe
    once, however often it was replayed and died again."""

    hifi_dead: int = 0
    """Dead letters that hifi could have prevented, counted in the same way, with replayed ones; `dead` has
    those alone that lie there now. Earlier versions of observe leave it 0."""

    held_up: int = 0
    """Deliveries that are not good because their destination failed, so that they wait or waited for another
    try. They count against the minute, but not against the side: no other version would be faster."""

    waiting: int = 0
    under_way: int = 0
    in_time: int = 0
    """Those of `under_way` that may still be in time, so they do not count against the minute yet."""

    lost: int = 0
    doubled: int = 0
    """Second copies that were not recognised and so were sent; `hops` has all that were made."""

    replayed: int = 0
    """Deliveries of events that a rollback let the good version process again: mostly second ones, and no
    doubles."""

    again: int = 0
    """Second copies that were sent, beyond `total`: each may be good, and each must be."""

    quarantined: int = 0

    def by_name(self) -> dict[str, int]:
        """The counts by name, without other fields of a subclass."""
        return {name: getattr(self, name) for name in _NAMES}

    def __add__(self, other: "Counts") -> "Counts":
        return summed((self, other))

    @property
    def answered_for(self) -> int:
        """Deliveries that hifi answers for."""
        return max(0, self.total + self.again - self.in_time - self.customer_dead)

    @property
    def good_share(self) -> float | None:
        """Share of the deliveries that hifi answers for; None if there are none."""
        return min(1.0, self.good / self.answered_for) if self.answered_for else None

    @property
    def slow(self) -> bool:
        """Whether too few were good, not counting lost ones, which break a promise of their own."""
        return self.answered_for > 0 and (self.good + self.lost) / self.answered_for < GOOD_SHARE

    @property
    def slow_side(self) -> bool:
        """Whether too few were good, not counting lost ones, nor those that their destination held up."""
        met = self.good + self.lost + self.held_up
        return self.answered_for > 0 and met / self.answered_for < GOOD_SHARE

    @property
    def broken(self) -> bool:
        """Whether a promise is broken: a delivery is lost, or too few are good."""
        return self.lost > 0 or (self.good_share is not None and self.good_share < GOOD_SHARE)


def summed(parts: Sequence[Counts]) -> Counts:
    """The sum of several counts."""
    return Counts(**{name: sum(getattr(part, name) for part in parts) for name in _NAMES})


_NAMES: Final = tuple(field.name for field in structs.fields(Counts))
