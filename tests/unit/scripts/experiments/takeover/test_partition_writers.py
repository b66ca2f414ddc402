"""Writers of a partition, read from a broker's log."""

import struct

import pytest

from scripts.experiments.takeover.partition_writers import producer_ids, writers_in_turn


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
