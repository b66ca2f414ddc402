"""The tests are exact, agree with enumeration of all arrangements, and rarely condemn equal versions."""

import random
import time
from collections.abc import Sequence
from itertools import combinations, permutations
from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.control.deploy.judging.significance import (
    binomial_greater,
    fisher_greater,
    rank_sum_greater,
    rising,
)

FEW = st.integers(0, 12)


@given(hits=FEW, misses=FEW, other_hits=FEW, other_misses=FEW)
def test_fisher_agrees_with_the_sum_of_its_definition(
    hits: int, misses: int, other_hits: int, other_misses: int
) -> None:
    of, of_other = hits + misses, other_hits + other_misses
    found = fisher_greater(hits, of, other_hits, of_other)
    if not of or not of_other or not hits:
        assert found == 1.0
        return
    every, marked = of + of_other, hits + other_hits
    ways = [comb(marked, k) * comb(every - marked, of - k) for k in range(hits, min(of, marked) + 1)]
    assert found == pytest.approx(sum(ways) / comb(every, of), rel=1e-9)


@given(of=st.integers(1, 40), data=st.data(), share=st.sampled_from([0.001, 0.05, 0.5]))
def test_binomial_agrees_with_the_sum_of_its_definition(of: int, data: st.DataObject, share: float) -> None:
    hits = data.draw(st.integers(0, of))
    wanted = sum(comb(of, k) * share**k * (1 - share) ** (of - k) for k in range(hits, of + 1))
    assert binomial_greater(hits, of, share) == pytest.approx(wanted, rel=1e-9)


@given(st.integers(1, 4), st.integers(1, 4), st.randoms(use_true_random=False))
def test_the_rank_sum_test_counts_every_arrangement(first: int, second: int, chance: random.Random) -> None:
    values = chance.sample(range(100), first + second)
    ours = values[:first]
    seen = _wins(ours, values[first:])
    splits = [set(each) for each in combinations(values, first)]
    as_good = [each for each in splits if _wins(list(each), [v for v in values if v not in each]) >= seen]
    assert rank_sum_greater(ours, values[first:]) == pytest.approx(len(as_good) / len(splits))


def test_an_hour_of_minutes_is_compared_in_a_moment() -> None:
    """After an hour's absence a deployer does it at each look, beside two sides on the same cores."""
    began = time.process_time()
    ours, theirs = list(range(0, 120, 2)), list(range(1, 121, 2))
    assert 0.4 < rank_sum_greater(ours, theirs) < 0.6
    assert 0 < rising(ours) < 1e-80
    assert time.process_time() - began < 1


def _wins(ours: Sequence[float], theirs: Sequence[float]) -> int:
    return sum(a > b for a in ours for b in theirs)


@given(st.lists(st.integers(0, 100), min_size=1, max_size=5, unique=True))
def test_the_test_for_a_trend_counts_every_order(values: list[int]) -> None:
    orders = list(permutations(values))
    seen = _in_order(values)
    as_high = [each for each in orders if _in_order(each) >= seen]
    assert rising(values) == pytest.approx(len(as_high) / len(orders))


def _in_order(values: Sequence[float]) -> int:
    return sum(a < b for a, b in combinations(values, 2))


def test_five_minutes_against_five_and_six_in_a_row_are_the_least_that_can_decide() -> None:
    assert rank_sum_greater([2] * 5, [1] * 5) == pytest.approx(1 / 252)
    assert rank_sum_greater([2] * 4, [1] * 4) > 0.005
    assert rising([1, 2, 3, 4, 5, 6]) == pytest.approx(1 / 720)
    assert rising([1, 2, 3, 4, 5]) > 0.005


def test_large_counts_take_no_time_and_do_not_overflow() -> None:
    assert fisher_greater(5_000, 100_000, 50_000, 1_000_000) == pytest.approx(0.5, abs=0.05)
    assert fisher_greater(6_000, 100_000, 50_000, 1_000_000) < 1e-20
    assert binomial_greater(5_600, 100_000, 0.05) < 1e-10
