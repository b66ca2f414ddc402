"""Waiting records are bounded by their bytes, and are taken in batches."""

from threading import Thread

from pipelines.control.observe.ledger.read_ahead import (
    AHEAD_BYTES,
    BATCH_BYTES,
    BATCH_RECORDS,
    ReadAhead,
    Record,
)


def record(offset: int, size: int) -> Record:
    return Record(offset, bytes(size))


def filled(ahead: ReadAhead, size: int) -> int:
    """Put records of one size until there is no room; returns their number."""
    count = 0
    while ahead.put(record(count, size), 0):
        count += 1
    return count


def test_records_wait_up_to_the_bytes_that_may() -> None:
    ahead = ReadAhead(1_000)
    assert filled(ahead, 300) == 3
    assert ahead.held_bytes == 900
    assert [each.offset for each in ahead.take(0)] == [0, 1, 2]
    assert (ahead.held_bytes, ahead.empty) == (0, True)


def test_thousands_of_the_largest_records_take_no_more_than_a_few() -> None:
    ahead = ReadAhead()
    assert filled(ahead, 1024 * 1024) == AHEAD_BYTES // (1024 * 1024)
    assert ahead.held_bytes <= AHEAD_BYTES


def test_a_record_that_is_larger_than_all_that_may_wait_waits_alone() -> None:
    ahead = ReadAhead(10)
    assert ahead.put(record(0, 50), 0)
    assert not ahead.put(record(1, 1), 0)
    assert [each.offset for each in ahead.take(0)] == [0]


def test_a_batch_has_a_bounded_number_of_bytes_and_of_records() -> None:
    ahead = ReadAhead()
    size = BATCH_BYTES // 4
    for offset in range(10):
        assert ahead.put(record(offset, size), 0)
    assert [[each.offset for each in ahead.take(0)] for _ in range(3)] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
    for offset in range(BATCH_RECORDS + 1):
        assert ahead.put(record(offset, 1), 0)
    assert [len(ahead.take(0)) for _ in range(3)] == [BATCH_RECORDS, 1, 0]


def test_a_record_larger_than_a_batch_is_taken_alone() -> None:
    ahead = ReadAhead()
    for offset, size in enumerate((BATCH_BYTES + 1, 1)):
        assert ahead.put(record(offset, size), 0)
    assert [[each.offset for each in ahead.take(0)] for _ in range(2)] == [[0], [1]]


def test_who_waits_for_room_goes_on_once_something_was_taken() -> None:
    ahead, put = ReadAhead(1), list[bool]()
    assert ahead.put(record(0, 1), 0)
    waiting = Thread(target=lambda: put.append(ahead.put(record(1, 1), 60)))
    waiting.start()
    assert len(ahead.take(60)) == 1
    waiting.join(60)
    assert put == [True]
    assert [each.offset for each in ahead.take(60)] == [1]
