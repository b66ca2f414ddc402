"""Times, durations and untrusted texts on the command line."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scripts.terminal import printable, spare_own_machine
from scripts.time_args import duration_seconds, duration_text, moment_ms

NOW = 1_800_000_000_000
strange = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)


@pytest.mark.parametrize(
    ("text", "ago_ms"),
    [("90s", 90_000), ("15m", 900_000), ("2h", 7_200_000), ("3d", 259_200_000), ("2027-01-15T08:00:00Z", 0)],
)
def test_moments_are_written_as_ages_or_in_iso_8601(text: str, ago_ms: int) -> None:
    assert moment_ms(text, NOW) == NOW - ago_ms


def test_a_time_without_offset_is_utc() -> None:
    assert moment_ms("2027-01-15 08:00", NOW) == moment_ms("2027-01-15T09:00:00+01:00", NOW) == NOW


@pytest.mark.parametrize("text", ["soon", "", "5", "5 weeks", "-3h", "2027-13-01"])
def test_an_invalid_time_is_refused_with_the_valid_forms(text: str) -> None:
    with pytest.raises(ValueError, match="is not a time: write 90s"):
        moment_ms(text, NOW)


@pytest.mark.parametrize(("text", "seconds"), [("90s", 90), ("30m", 1_800), ("2h", 7_200), ("1d", 86_400)])
def test_a_duration_is_a_number_and_a_unit(text: str, seconds: int) -> None:
    assert duration_seconds(text) == seconds


@pytest.mark.parametrize("text", ["soon", "", "5", "0s", "-3h", "1w", "2027-01-15"])
def test_an_invalid_duration_is_refused_with_the_valid_forms(text: str) -> None:
    with pytest.raises(ValueError, match="is not a duration: write 90s"):
        duration_seconds(text)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(-1, "0s"), (59.9, "59s"), (60, "1m00s"), (3_599, "59m59s"), (7_200, "2h00m"), (273_600, "3d04h")],
)
def test_a_length_has_two_units(seconds: float, text: str) -> None:
    assert duration_text(seconds) == text


@given(strange)
def test_nothing_a_stranger_wrote_moves_the_cursor(text: str) -> None:
    assert printable(text).isprintable()
    if text.isprintable():
        assert printable(text) == text


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({}, "127.0.0.1,localhost"),
        ({"NO_PROXY": "intra.example, localhost"}, "intra.example,localhost,127.0.0.1"),
        ({"no_proxy": "a.example", "NO_PROXY": "b.example"}, "a.example,127.0.0.1,localhost"),
        ({"no_proxy": "*"}, "*"),
    ],
)
def test_no_proxy_stands_before_this_machine(before: dict[str, str], after: str) -> None:
    environment = {"HTTP_PROXY": "http://proxy.example:3128", **before}
    spare_own_machine(environment)
    assert (environment["no_proxy"], environment["NO_PROXY"]) == (after, after)
