"""The rating search: which rate to try next. Pure.

The rate doubles until a probe fails. Bisection on multiples of a step follows, between the highest rate that
held and the lowest that failed; then a long hold at the result. If a hold fails, the next is one step lower.
"""

from collections.abc import Iterable, Sequence
from enum import StrEnum

from msgspec import Struct


class Length(StrEnum):
    """Length of a trial: short probes narrow the range, a long hold decides."""

    PROBE = "probe"
    HOLD = "hold"


class Trial(Struct, frozen=True):
    """A rate that was tried, in events per second, and whether the chain held it."""

    rate: int
    length: Length
    held: bool


class NextTrial(Struct, frozen=True):
    """The next trial of the search."""

    rate: int
    length: Length


class SearchRange(Struct, frozen=True, kw_only=True):
    """Range of the search in events per second; `start` and `highest` are multiples of `step`."""

    step: int = 2_500
    start: int = 10_000
    highest: int = 80_000
    holds: int = 4

    def __post_init__(self) -> None:
        """Refuse a range that the search cannot cover in steps."""
        if self.step < 1 or self.holds < 1 or not self.step <= self.start <= self.highest:
            raise ValueError("a search needs 1 <= step <= start <= highest and at least one hold")
        if self.start % self.step or self.highest % self.step:
            raise ValueError(f"start and highest must be multiples of the step {self.step}")


def next_trial(trials: Sequence[Trial], bounds: SearchRange) -> NextTrial | None:
    """The trial after `trials`; None when the search is over.

    A failure at a rate outweighs success at or above it: the rating is a rate that is held reliably, so a
    lucky probe above a failed one does not count.
    """
    rating = held_rate(trials)
    ceiling = _ceiling(trials, bounds)
    holds = sum(trial.length is Length.HOLD for trial in trials)
    if rating or holds >= bounds.holds or ceiling <= bounds.step:
        return None
    if holds:
        return NextTrial(ceiling - bounds.step, Length.HOLD)
    floor = max((t.rate for t in trials if t.held and t.rate < ceiling), default=0)
    if ceiling - floor <= bounds.step:
        return NextTrial(floor, Length.HOLD)
    return NextTrial(_between(floor, ceiling, bounds), Length.PROBE)


def held_rate(trials: Iterable[Trial]) -> int:
    """The rating: the highest rate a long trial held; 0 if none was held."""
    return max((t.rate for t in trials if t.held and t.length is Length.HOLD), default=0)


def most_trials(bounds: SearchRange) -> int:
    """An upper bound on the length of any search within `bounds`."""
    return 2 * (bounds.highest // bounds.step).bit_length() + bounds.holds


def _ceiling(trials: Iterable[Trial], bounds: SearchRange) -> int:
    """The lowest rate that failed; one step above the highest allowed if none did."""
    return min((t.rate for t in trials if not t.held), default=bounds.highest + bounds.step)


def _between(floor: int, ceiling: int, bounds: SearchRange) -> int:
    if ceiling > bounds.highest and not floor:
        return bounds.start
    if ceiling > bounds.highest:  # nothing failed yet
        return min(2 * floor, bounds.highest)
    steps = (floor + ceiling) // (2 * bounds.step)
    return max(steps, floor // bounds.step + 1) * bounds.step
