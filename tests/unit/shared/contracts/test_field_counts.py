"""A field's counts add exactly in any order, and numbers keep the stated precision."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.contracts.field_counts import (
    GROWTH,
    LARGEST,
    MAX_TEXTS,
    SMALLEST,
    FieldCounts,
    bucket_bounds,
    bucket_value,
    kept_texts,
    number_buckets,
    summed,
)

_texts = st.dictionaries(st.text(max_size=3), st.integers(1, 9), max_size=80)
_numbers = st.dictionaries(st.integers(-1_410, 1_410), st.integers(1, 9), max_size=20)


@st.composite
def counts(draw: st.DrawFn) -> FieldCounts:
    """Counts that a range of events may hold; some have more texts than are kept."""
    kept, other = kept_texts(draw(_texts))
    events = draw(st.integers(0, 1_000))
    return FieldCounts(
        events=events, missing=draw(st.integers(0, events)), numbers=draw(_numbers), texts=kept, other=other
    )


@given(counts(), counts(), counts())
def test_sums_do_not_depend_on_order_or_grouping(a: FieldCounts, b: FieldCounts, c: FieldCounts) -> None:
    assert summed([a, b]) == summed([b, a])
    assert summed([summed([a, b]), c]) == summed([a, summed([b, c])]) == summed([a, b, c])


@given(counts(), counts())
def test_a_sum_has_all_values(a: FieldCounts, b: FieldCounts) -> None:
    both = summed([a, b])
    assert both.values == a.values + b.values
    assert (both.events, both.missing) == (a.events + b.events, a.missing + b.missing)


@given(st.lists(_texts, min_size=1, max_size=5))
def test_the_count_of_a_kept_text_is_exact_whatever_was_dropped_on_the_way(
    parts: list[dict[str, int]],
) -> None:
    exact: dict[str, int] = {}
    for part in parts:
        for text, count in part.items():
            exact[text] = exact.get(text, 0) + count
    cut = [kept_texts(part) for part in parts]
    found = summed([FieldCounts(texts=kept, other=other) for kept, other in cut])
    assert found.texts == {text: exact[text] for text in found.texts}
    assert len(found.texts) == min(len(exact), MAX_TEXTS)
    assert found.other == sum(exact.values()) - sum(found.texts.values())


@given(st.lists(st.floats(allow_nan=False), min_size=1))
def test_a_bucket_is_as_near_to_its_numbers_as_it_grows(values: list[float]) -> None:
    for value, bucket in zip(values, number_buckets(np.array(values)).tolist(), strict=True):
        size = min(abs(value), LARGEST)
        if size < SMALLEST:
            assert bucket == 0
        else:
            low, high = bucket_bounds(bucket)
            assert low < high
            assert abs(bucket_value(bucket) - np.copysign(size, value)) <= size * (GROWTH - 1)


@given(st.floats(allow_nan=False), st.floats(allow_nan=False))
def test_a_larger_number_is_in_no_smaller_bucket(one: float, other: float) -> None:
    low, high = sorted((one, other))
    assert number_buckets(np.array([low])) <= number_buckets(np.array([high]))


@pytest.mark.parametrize("bucket", [-1_000, -1, 0, 1, 529, 1_000])
def test_bounds_of_a_bucket_hold_its_number(bucket: int) -> None:
    low, high = bucket_bounds(bucket)
    assert low <= bucket_value(bucket) <= high
