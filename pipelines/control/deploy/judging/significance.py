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
        if falling and term <= found * _NEGLIGIBLE:  # all of them may be too small for a float
            break
    return min(1.0, found)


def _arrangements(first: int, second: int) -> list[int]:
    """The number of orderings that give each count of wins of the first sample over the second.

    These are the coefficients of a Gaussian binomial, which the polynomial is after each turn of the loop.
    """
    found = [1] + [0] * (first * second)
    for number in range(1, first + 1):
        _multiply(found, second + number)
        _divide(found, number)
    assert sum(found) == comb(first + second, first)
    return found


def _orders(of: int) -> list[int]:
    """The number of permutations that have each count of pairs in order."""
    found = [1] + [0] * comb(of, 2)
    for number in range(1, of + 1):
        _multiply(found, number)
        _divide(found, 1)
    assert sum(found) == factorial(of)
    return found


def _multiply(polynomial: list[int], power: int) -> None:
    """Multiply by (1 - x^power) in place; terms that do not fit into the list are dropped."""
    for at in range(len(polynomial) - 1, power - 1, -1):
        polynomial[at] -= polynomial[at - power]


def _divide(polynomial: list[int], power: int) -> None:
    """Divide by (1 - x^power) in place."""
    for at in range(power, len(polynomial)):
        polynomial[at] += polynomial[at - power]
