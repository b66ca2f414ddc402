"""Formatting of figures."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.management.console import formatting
from shared.contracts.timestamps import DAY_MINUTES


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0 %"),
        (100, "100 %"),
        (1.5, "1.5 %"),
        (0.0123, "0.012 %"),
        (0.00001, "<0.001 %"),
        (99.99999, ">99.999 %"),
        (99.9, "99.9 %"),
    ],
)
def test_percentages(value: float, text: str) -> None:
    assert str(formatting.percent(value)) == text


@given(st.floats(0, 100, exclude_min=True, exclude_max=True))
def test_small_shares_are_never_shown_as_zero_nor_as_all(value: float) -> None:
    assert formatting.percent(value).text not in ("0", "100", "")


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "\u2013 %"), (1.0, "100 %"), (0.95, "95 %"), (0.949_999_7, "94.999 %"), (0.0, "0 %")],
)
def test_a_minute_that_is_spent_is_not_shown_with_the_share_that_was_promised(
    value: float | None, text: str
) -> None:
    assert str(formatting.good_share(value)) == text


@pytest.mark.parametrize(
    ("value", "text"), [(None, "\u2013 nines"), (9.0, "9.0 nines"), (2.9999, "2.9 nines"), (3.0, "3.0 nines")]
)
def test_nines_are_cut_not_rounded(value: float | None, text: str) -> None:
    assert str(formatting.nines(value)) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (-3, "0 s"),
        (42.4, "42 s"),
        (60, "1 min"),
        (185, "3 min 5 s"),
        (7_800, "2 h 10 min"),
        (86_400 * 3 + 4 * 3600 + 59, "3 d 4 h"),
    ],
)
def test_durations(seconds: float, text: str) -> None:
    assert formatting.duration(seconds) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "\u2013 ms"), (0.44, "0.4 ms"), (9.95, "9.9 ms"), (343.6, "344 ms"), (31_000, "31,000 ms")],
)
def test_lags(value: float | None, text: str) -> None:
    assert str(formatting.lag(value)) == text


def test_rates_and_counts() -> None:
    assert str(formatting.rate(0)) == "0.0 events/s"
    assert str(formatting.rate(20_123.4)) == "20,123 events/s"
    assert formatting.counted(1, "minute") == "1 minute"
    assert formatting.counted(2_000, "event") == "2,000 events"
    assert formatting.minutes_left(-0.56).text == "\u22120.56"


def test_times_are_utc() -> None:
    assert formatting.clock_time(1_700_000_000_000) == "22:13:20"
    assert formatting.moment(1_700_000_000_000) == "2023-11-14 22:13"
    assert formatting.clock_minute(1_700_000_000 // 60) == "22:13"
    assert formatting.named_time(1_700_000_000_000) == "22:13:20 UTC"
    assert formatting.named_moment(1_700_000_000_000) == "2023-11-14 22:13 UTC"


@given(st.integers(0, 60_000_000))
def test_a_minute_lies_in_its_day(minute: int) -> None:
    first = formatting.first_minute(formatting.day_of(minute))
    assert first <= minute < first + DAY_MINUTES
