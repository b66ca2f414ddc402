"""The population stability index is zero for equal inputs, symmetric, and grows with the difference."""

from collections.abc import Mapping
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.control.observe.skew.distributions import (
    GROUPS,
    OTHER,
    Part,
    median,
    parts,
    psi,
)
from shared.contracts.field_counts import MAX_TEXTS, FieldCounts, bucket_value, kept_texts, text_order
from shared.contracts.watches import WatchKind

_numbers = st.dictionaries(st.integers(-1_410, 1_410), st.integers(1, 10_000), min_size=1, max_size=30)
_texts = st.dictionaries(st.text(max_size=4), st.integers(1, 10_000), min_size=1, max_size=80)
_shares = st.lists(st.floats(0, 1), min_size=2, max_size=12).filter(lambda each: sum(each) > 0)


def numbers(counts: Mapping[int, int]) -> FieldCounts:
    return FieldCounts(events=sum(counts.values()), numbers=dict(counts))


def texts(counts: Mapping[str, int]) -> FieldCounts:
    kept, other = kept_texts(counts)
    return FieldCounts(events=sum(counts.values()), texts=kept, other=other)


def index(kind: WatchKind, now: FieldCounts, before: FieldCounts) -> float:
    return psi(parts(kind, now, before))


@given(_numbers, st.integers(1, 50))
def test_numbers_in_equal_shares_give_zero(counts: dict[int, int], times: int) -> None:
    more = numbers({bucket: count * times for bucket, count in counts.items()})
    assert index("distribution", numbers(counts), more) == pytest.approx(0, abs=1e-9)


@given(_texts, st.integers(1, 50))
def test_texts_in_equal_shares_give_zero(counts: dict[str, int], times: int) -> None:
    more = texts({text: count * times for text, count in counts.items()})
    assert index("categories", texts(counts), more) == pytest.approx(0, abs=1e-9)


@given(_numbers, _numbers)
def test_numbers_exchanged_give_the_same(a: dict[int, int], b: dict[int, int]) -> None:
    there = index("distribution", numbers(a), numbers(b))
    assert there >= 0
    assert there == pytest.approx(index("distribution", numbers(b), numbers(a)))


@given(_texts, _texts)
def test_texts_exchanged_give_the_same(a: dict[str, int], b: dict[str, int]) -> None:
    there = index("categories", texts(a), texts(b))
    assert there >= 0
    assert there == pytest.approx(index("categories", texts(b), texts(a)))


@given(_shares, st.data())
def test_the_index_grows_on_the_way_from_one_to_another(shares: list[float], data: st.DataObject) -> None:
    before = [each / sum(shares) for each in shares]
    other = data.draw(st.lists(st.floats(0, 1), min_size=len(shares), max_size=len(shares)))
    total = sum(other) or 1
    found = []
    for step in range(6):
        mixed = [b + (o / total - b) * step / 5 for b, o in zip(before, other, strict=True)]
        found.append(psi(Part("", now, b) for now, b in zip(mixed, before, strict=True)))
    assert found[0] == pytest.approx(0, abs=1e-12)
    assert all(later >= earlier - 1e-9 for earlier, later in pairwise(found))


@given(_numbers, _numbers)
def test_parts_are_few_and_hold_everything(a: dict[int, int], b: dict[int, int]) -> None:
    found = parts("distribution", numbers(a), numbers(b))
    assert len(found) <= GROUPS + 1
    assert sum(part.now for part in found) == pytest.approx(1)
    assert sum(part.before for part in found) == pytest.approx(1)


def test_a_distribution_that_moves_is_above_the_bound_and_a_little_noise_is_not() -> None:
    """Numbers around 500 and around 700, and 1,000 events of the same distribution."""
    usual = {690 + at: 100 for at in range(20)}
    assert index("distribution", numbers({at + 9: n for at, n in usual.items()}), numbers(usual)) > 0.2
    noisy = {bucket: 100 + (-1) ** bucket * 10 for bucket in usual}
    assert index("distribution", numbers(noisy), numbers(usual)) < 0.05


def test_texts_that_one_side_does_not_count_by_themselves_are_compared_with_the_others() -> None:
    """The same many texts, cut at different places: nothing has changed."""
    every = sorted((f"t{at}" for at in range(4 * MAX_TEXTS)), key=text_order)
    few, many = dict.fromkeys(every[1::2], 10), dict.fromkeys(every, 10)
    found = parts("categories", texts(many), texts(few))
    assert OTHER in {part.label for part in found}
    assert len(found) <= 2 * MAX_TEXTS
    assert sum(part.now for part in found) == pytest.approx(1)
    assert sum(part.before for part in found) == pytest.approx(1)


def test_the_most_different_text_comes_first() -> None:
    found = parts("categories", texts({"DE": 10, "US": 80, "AT": 10}), texts({"DE": 50, "US": 40, "AT": 10}))
    assert [part.label for part in found] == ["DE", "US", "AT"]


@given(_numbers)
def test_the_median_is_the_middle_number(counts: dict[int, int]) -> None:
    every = [bucket for bucket in sorted(counts) for _ in range(min(counts[bucket], 10))]
    small = {bucket: min(count, 10) for bucket, count in counts.items()}
    assert median(small) == bucket_value(every[(len(every) - 1) // 2])
