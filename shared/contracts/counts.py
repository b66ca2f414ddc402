"""What is counted of a minute or a day of deliveries, and what of it breaks a promise. Pure.

The one definition: cards of minutes and of days and the alarm on slow minutes use it. Against a minute counts
every delivery that hifi answers for and that was not good. It answers for the deliveries owed and for second
copies that were sent. It does not answer for what may still be in time, nor for dead letters that only the
customer can prevent.
"""

from collections.abc import Sequence
from typing import Final

from msgspec import Struct, structs

GOOD_SHARE: Final = 0.95
"""Of the deliveries of a minute that hifi answers for: that many must be good."""


class Counts(Struct, kw_only=True, frozen=True):
    """Counts that add up, over tenants and over minutes. A new count is a line here."""

    collected: int = 0
    late: int = 0
    unmatched: int = 0
    """Events that no pipe takes: filtered, or outside every sample."""

    total: int = 0
    """Deliveries owed: events times the pipes that take them."""

    good: int = 0
    delivered: int = 0
    dead: int = 0
    customer_dead: int = 0
    """Dead letters that only the customer can prevent; those that were replayed since are still in it."""

    waiting: int = 0
    under_way: int = 0
    in_time: int = 0
    """Of those under way, how many may still be in time: too early to hold them against the minute."""

    lost: int = 0
    doubled: int = 0
    """Second copies that were not recognised, and so were sent; all that were made are in `hops`."""

    again: int = 0
    """Second copies that were sent, beyond `total`: each may be good, and each must be."""

    quarantined: int = 0

    def by_name(self) -> dict[str, int]:
        """The counts alone, of whatever has more than these."""
        return {name: getattr(self, name) for name in _NAMES}

    def __add__(self, other: "Counts") -> "Counts":
        return summed((self, other))

    @property
    def answered_for(self) -> int:
        """Deliveries that hifi answers for."""
        return max(0, self.total + self.again - self.in_time - self.customer_dead)

    @property
    def good_share(self) -> float | None:
        """Of the deliveries that hifi answers for; None where there are none."""
        return min(1.0, self.good / self.answered_for) if self.answered_for else None

    @property
    def slow(self) -> bool:
        """Whether too few were good, lost ones left out: a loss breaks a promise of its own."""
        return self.answered_for > 0 and (self.good + self.lost) / self.answered_for < GOOD_SHARE

    @property
    def broken(self) -> bool:
        """Whether a promise is broken: one is lost, or too few are good."""
        return self.lost > 0 or (self.good_share is not None and self.good_share < GOOD_SHARE)


def summed(parts: Sequence[Counts]) -> Counts:
    """All of them together."""
    return Counts(**{name: sum(getattr(part, name) for part in parts) for name in _NAMES})


_NAMES: Final = tuple(field.name for field in structs.fields(Counts))
