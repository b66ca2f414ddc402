"""Positions of a search, as stored in cursors."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.dead_letters.search import position_text, read_position


@given(st.dictionaries(st.integers(0, 10**9 - 1), st.integers(0, 10**18 - 1), min_size=1, max_size=100))
def test_a_position_is_read_as_it_was_written(position: dict[int, int]) -> None:
    assert read_position(position_text(position)) == position


@pytest.mark.parametrize("text", ["", "0", "0.", ".1", "0.1-", "0.-1", "٣.1", "0.1,1.2", "0." + "9" * 19])
def test_any_other_text_is_no_position(text: str) -> None:
    assert read_position(text) is None
