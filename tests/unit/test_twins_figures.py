"""Figures of tests on two sides: the start of a leak, and the minutes that a customer lost."""

import re
from collections.abc import Sequence
from itertools import count

import pytest

from scripts.scorecard.both_sides import spent_together
from shared.contracts.envelope import MINUTE_MS
from shared.contracts.scorecard import MinuteCard
from tests.harness.memory_recording import MemoryReading, heavy_since_ms, recorded_memory
from tests.harness.waiting import eventually

TRAFFIC_MS = 10 * MINUTE_MS + 40_000
"""Within a minute."""


def _readings(*seconds_and_sizes: tuple[int, int, int]) -> Sequence[MemoryReading]:
    """Readings at intervals after the first traffic, of the version and of the side beside it."""
    return [
        MemoryReading(TRAFFIC_MS + 1_000 * seconds, {"green": mine, "blue": other})
        for seconds, mine, other in seconds_and_sizes
    ]


def test_a_leak_counts_from_the_beginning_of_the_first_minute_with_a_reading_that_is_too_large() -> None:
    found_late = (400, 900, 97)
    readings = _readings((0, 90, 100), (30, 129, 99), (70, 131, 98), (80, 125, 98), found_late)
    assert heavy_since_ms(readings, "green", "blue", TRAFFIC_MS) == 11 * MINUTE_MS


def test_a_leak_in_the_minute_of_the_first_traffic_counts_from_its_reading() -> None:
    readings = _readings((0, 90, 100), (10, 131, 100), (30, 200, 100))
    assert heavy_since_ms(readings, "green", "blue", TRAFFIC_MS) == TRAFFIC_MS + 10_000


@pytest.mark.parametrize("readings", [_readings((0, 130, 100), (60, 150, 116)), []])
def test_a_version_that_never_needed_too_much_did_not_leak(readings: Sequence[MemoryReading]) -> None:
    with pytest.raises(AssertionError, match=re.escape("green never needed more than 1.3 times as much")):
        heavy_since_ms(readings, "green", "blue", TRAFFIC_MS)


def test_memory_is_recorded_until_the_block_ends() -> None:
    times = count(1)
    with recorded_memory(lambda: {"blue": 7}, lambda: next(times), every_seconds=0.001) as readings:
        eventually(lambda: len(readings) > 2, 10, "several readings")
    assert readings[:2] == [MemoryReading(1, {"blue": 7}), MemoryReading(2, {"blue": 7})]
    assert next(times) == len(readings) + 1, "none after the block"


def test_a_minute_is_spent_if_it_is_by_both_sides_together() -> None:
    def card(minute: int, total: int, good: int, lost: int = 0) -> MinuteCard:
        return MinuteCard(tenant="a", minute=minute, settled=True, total=total, good=good, lost=lost)

    late_alone = [card(1, 900, 900), card(1, 100, 60)]
    late_together = [card(2, 900, 900), card(2, 100, 40)]
    one_lost = [card(3, 900, 900), card(3, 100, 99, lost=1)]
    assert spent_together([*one_lost, *late_alone, *late_together]) == [2, 3]
