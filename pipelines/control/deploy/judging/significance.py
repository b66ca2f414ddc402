"""How likely it is that a difference is chance: exact tests for small and large counts. Pure.

Each answers a one-sided p-value: the probability of a difference at least as large, if there were none.
"""

from collections.abc import Iterable, Sequence
from itertools import combinations
from math import comb, exp, factorial, lgamma, log
from typing import Final

_NEGLIGIBLE: Final = 1e-12
"""A term that adds less than this share ends a sum that only falls from there on."""


def fisher_greater(hits: int, of: int, other_hits: int, of_other: int) -> float:
    """Fisher's exact test: the first share of hits is greater than the second."""
    every, all_hits = of + of_other, hits + other_hits
    if not of or not of_other or not hits:
        return 1.0
    terms = (
        _log_comb(all_hits, k) + _log_comb(every - all_hits, of - k) - _log_comb(every, of)
        for k in range(hits, min(all_hits, of) + 1)
    )
    return _tail(terms, falling=hits * every >= all_hits * of)


def binomial_greater(hits: int, of: int, share: float) -> float:
    """Exact binomial test: hits are more frequent than `share`, which is between 0 and 1."""
    if not hits:
        return 1.0
    terms = (_log_comb(of, k) + k * log(share) + (of - k) * log(1 - share) for k in range(hits, of + 1))
    return _tail(terms, falling=hits >= of * share)


def rank_sum_greater(values: Sequence[float], others: Sequence[float]) -> float:
    """Mann and Whitney's exact test: values are greater than others; equal ones count as not greater."""
    wins = sum(value > other for value in values for other in others)
    counts = _arrangements(len(values), len(others))
    return sum(counts[wins:]) / comb(len(values) + len(others), len(values))


def rising(values: Sequence[float]) -> float:
    """Kendall's exact test for a trend: values rise in the order they are given; equal ones do not."""
    in_order = sum(later > earlier for earlier, later in combinations(values, 2))
    return sum(_orders(len(values))[in_order:]) / factorial(len(values))


def _log_comb(of: int, chosen: int) -> float:
    if not 0 <= chosen <= of:
        return float("-inf")
    return lgamma(of + 1) - lgamma(chosen + 1) - lgamma(of - chosen + 1)


def _tail(terms: Iterable[float], *, falling: bool) -> float:
    """Sum of terms given as logarithms; `falling`: each is less than the one before."""
    found = 0.0
    for each in terms:
        term = exp(each)
        found += term
        if falling and term < found * _NEGLIGIBLE:
            break
    return min(1.0, found)


def _arrangements(first: int, second: int) -> list[int]:
    """By wins of the first over the second, in how many orders of all of them these come about."""
    rows = [[1] for _ in range(second + 1)]
    for n in range(1, first + 1):
        row = [[1]]
        for m in range(1, second + 1):
            # The greatest of all is of the first, and beats each of the second, or of the second.
            row.append(_added([0] * m + rows[m], row[m - 1]))
        rows = row
        assert sum(rows[second]) == comb(n + second, n)
    return rows[second]


def _orders(of: int) -> list[int]:
    """By pairs that are in order, in how many permutations there are so many."""
    found = [1]
    for n in range(1, of):
        following = [0] * (len(found) + n)
        for at, count in enumerate(found):
            for more in range(n + 1):
                following[at + more] += count
        found = following
    return found


def _added(some: Sequence[int], others: Sequence[int]) -> list[int]:
    longest = max(len(some), len(others))
    return [sum(each[at] for each in (some, others) if at < len(each)) for at in range(longest)]
