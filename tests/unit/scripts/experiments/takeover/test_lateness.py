"""Late seconds around a fault, and writers of a partition."""

import struct

import pytest

from scripts.experiments.takeover.lateness import lateness, p95_by_second, producer_ids, writers_in_turn
from scripts.load.records import Received


def test_a_second_is_that_of_sending_and_a_second_arrival_does_not_count() -> None:
    rows = [Received("a", 10_900, 500), Received("b", 12_900, 2_500), Received("a", 19_000, 8_600)]
    assert p95_by_second(rows) == {10: 2_500}


def test_late_seconds_are_counted_from_the_fault_until_the_last() -> None:
    p95 = {5: 2_000.0, 10: 90.0, 20: 4_000.0, 21: 3_000.0, 22: 900.0, 23: 1_001.0, 24: 1_000.0}
    found = lateness(p95, fault_ms=20_500)
    assert (found.late_seconds, found.late_before, found.highest_p95_ms) == (3, 1, 4_000)
    assert found.recovered_seconds == pytest.approx(3.5)


def test_a_fault_without_late_seconds_is_over_at_once() -> None:
    assert lateness({20: 100.0}, fault_ms=20_500).recovered_seconds == 0


@pytest.mark.parametrize(
    ("producers", "in_turn"), [([], True), ([1, 1, 2, 2, 3], True), ([1, 2, 1], False), ([1, 2, 3, 2], False)]
)
def test_a_producer_that_writes_after_its_successor_shows(producers: list[int], in_turn: bool) -> None:
    assert writers_in_turn(producers) is in_turn


def _batch(producer: int, records: bytes = b"xyz") -> bytes:
    body = struct.pack(">iBIhiqqqhii", 0, 2, 0, 0, 0, 0, 0, producer, 0, 0, 1) + records
    return struct.pack(">qi", 0, len(body)) + body


def test_producers_are_read_from_whole_batches_of_a_segment() -> None:
    segment = _batch(7) + _batch(-1) + _batch(9) + _batch(11)[:-1]
    assert list(producer_ids(segment)) == [7, 9]
