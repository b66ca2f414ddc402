"""Two conditions measured alternately, so that a slow minute of the machine affects both."""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from scripts.experiments.harness.percentiles import spread

T = TypeVar("T")


def in_turns(pairs: int, first: Callable[[int], T], second: Callable[[int], T]) -> Iterator[tuple[T, T]]:
    """Results of both, pair by pair: first, second, second, first, and so on.

    Args:
        pairs: number of measurements of each.
        first: measures one condition; its argument is the pair's number, from 0.
        second: measures the other condition.
    """
    for number in range(pairs):
        if number % 2 == 0:
            one = first(number)
            yield one, second(number)
        else:
            other = second(number)
            yield first(number), other


def ratios_text(ratios: Iterable[float]) -> str:
    """`x1.02 in the median of 4 pairs (x0.94 to x1.12)`."""
    listed = list(ratios)
    found = spread(listed)
    if found is None:
        return "nothing to compare"
    extent = f"x{found.lowest:.2f} to x{found.highest:.2f}"
    return f"x{found.median:.2f} in the median of {len(listed)} pairs ({extent})"
