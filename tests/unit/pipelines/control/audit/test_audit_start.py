"""Without a checkpoint audit continues at the furthest offset that the ledger covers."""

from pipelines.control.audit.audit_start import covered_by
from shared.contracts.ledger import Range, encode_range
from shared.contracts.topics import Topic

EVENTS = ("events", "0")


def written(start: int, end: int, part: int = 0, parts: int = 1) -> bytes:
    found = Range(
        topic=Topic.EVENTS, partition=0, start=start, end=end, newest_ms=1, tallies=[], part=part, parts=parts
    )
    return encode_range(found)


def test_a_range_that_was_written_again_does_not_move_the_start_back() -> None:
    """After a crash, the first of its ranges repeat those that the batch had already written."""
    ledger = [written(0, 10), written(10, 20), written(20, 30), written(10, 15)]
    assert covered_by(ledger, {EVENTS: 40}) == {EVENTS: 30}


def test_a_range_without_its_last_part_is_not_covered() -> None:
    assert covered_by([written(0, 10), written(10, 20, 0, 2)], {EVENTS: 40}) == {EVENTS: 10}


def test_ranges_of_a_topic_that_was_recreated_do_not_count() -> None:
    assert covered_by([written(0, 5_000), written(0, 10)], {EVENTS: 12}) == {EVENTS: 10}
    assert covered_by([written(0, 5_000)], {EVENTS: 12}) == {}


def test_records_of_the_ledger_that_are_no_range_cover_nothing() -> None:
    assert covered_by([b"", written(0, 10), b"\xc1", b"\x80"], {EVENTS: 12}) == {EVENTS: 10}
