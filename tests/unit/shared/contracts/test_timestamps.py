"""RFC 3339."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.contracts.timestamps import format_time, parse_time

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@given(st.integers(-62_135_596_800_000, 253_402_300_799_999))
def test_written_times_are_read_again(ms: int) -> None:
    assert parse_time(format_time(ms)) == ms


@given(st.datetimes(), st.integers(-1439, 1439))
def test_offsets_count(moment: datetime, minutes: int) -> None:
    sign, rest = "-" if minutes < 0 else "+", abs(minutes)
    text = f"{moment.isoformat(timespec='milliseconds')}{sign}{rest // 60:02}:{rest % 60:02}"
    wanted = (moment.replace(tzinfo=UTC) - EPOCH) // timedelta(milliseconds=1) - minutes * 60_000
    assert parse_time(text) == wanted


@given(st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    assert parse_time(text) is None or text[4] == "-"


@pytest.mark.parametrize(
    "text",
    [
        "2026-01-01t00:00:00z",
        "2026-01-01 00:00:00Z",
        "2026-01-01T00:00:00.000000000Z",
        "2025-12-31T23:59:60Z",
    ],
)
def test_rarer_forms_of_the_grammar_are_read(text: str) -> None:
    assert parse_time(text) in (1_767_225_600_000, 1_767_225_599_000)


@pytest.mark.parametrize(
    "text",
    [
        "2026-01-01",
        "2026-01-01T00:00:00",
        "2026-01-01T00:00:00+0000",
        "2026-01-01T00:00:00+00",
        "2026-01-01T00:00Z",
        "2026-01-01T24:00:00Z",
        "2026-13-01T00:00:00Z",
        "2026-W01-1T00:00:00Z",
        "2026-01-01T00:00:00,5Z",
        "2026-01-01T00:00:00Z ",
        "\u0662026-01-01T00:00:00Z",
        "",
    ],
)
def test_other_forms_are_not(text: str) -> None:
    assert parse_time(text) is None
