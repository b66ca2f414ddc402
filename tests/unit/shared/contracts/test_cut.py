"""A promise's figure never shows more than was kept."""

from hypothesis import given
from hypothesis import strategies as st

from shared.contracts.cut import cut, cut_short, raised_short


@given(st.floats(min_value=-1_000, max_value=1_000), st.integers(min_value=0, max_value=4))
def test_a_figure_never_shows_more_than_was_kept_nor_a_whole_digit_less(value: float, decimals: int) -> None:
    shown = float(cut(value, decimals))
    assert value - 10**-decimals - 1e-8 <= shown <= value + 1e-8


def test_what_falls_short_of_a_promise_is_not_shown_as_the_promise() -> None:
    assert cut(99.96, 1) == "99.9"
    assert cut(2.9999, 2) == "2.99"
    assert cut(2.9999999999999996, 1) == "3.0"


@given(st.floats(min_value=0, max_value=100), st.integers(min_value=0, max_value=4))
def test_what_should_be_little_never_shows_less_than_there_was(value: float, decimals: int) -> None:
    shown = float(raised_short(value, decimals))
    assert value - 1e-8 <= shown <= value + 10**-decimals + 1e-8


def test_zeros_after_the_point_are_left_out_and_no_others() -> None:
    assert (cut_short(94.0, 3), cut_short(94.96, 3), cut_short(100.0, 0)) == ("94", "94.96", "100")
    assert (raised_short(1.004, 2), raised_short(0.0, 3), raised_short(0.1, 3)) == ("1.01", "0", "0.1")
