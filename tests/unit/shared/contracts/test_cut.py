"""A figure of a promise never shows more than was kept."""

from hypothesis import given
from hypothesis import strategies as st

from shared.contracts.cut import cut


@given(st.floats(min_value=-1_000, max_value=1_000), st.integers(min_value=0, max_value=4))
def test_a_figure_never_shows_more_than_was_kept_nor_a_whole_digit_less(value: float, decimals: int) -> None:
    shown = float(cut(value, decimals))
    assert value - 10**-decimals - 1e-8 <= shown <= value + 1e-8


def test_what_falls_short_of_a_promise_is_not_shown_as_the_promise() -> None:
    assert cut(99.96, 1) == "99.9"
    assert cut(2.9999, 2) == "2.99"
    assert cut(2.9999999999999996, 1) == "3.0"
