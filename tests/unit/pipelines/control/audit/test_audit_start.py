"""Without a checkpoint audit continues at the furthest offset that the ledger covers."""

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, Final

import pytest

from pipelines.control.audit import audit_start
from pipelines.control.audit.audit_start import BLOCK, covered_by, covered_offsets
from shared.contracts.ledger import Range, encode_range
from shared.contracts.topics import Topic
from shared.kafka.offset_range_reader import OffsetRange

EVENTS = ("events", "0")
HOUR_MS: Final = 3_600_000


def written(start: int, end: int, part: int = 0, parts: int = 1, *, newest_ms: int = 1) -> bytes:
    found = Range(
        topic=Topic.EVENTS,
        partition=0,
        start=start,
        end=end,
        newest_ms=newest_ms,
        tallies=[],
        part=part,
        parts=parts,
    )
    return encode_range(found)


def test_a_range_that_was_written_again_does_not_move_the_start_back() -> None:
    """After a crash, the first of its ranges repeat those that the batch had already written."""
    ledger = [written(0, 10), written(10, 20), written(20, 30), written(10, 15)]
    assert covered_by(ledger, {EVENTS: 40}, {EVENTS: 1}) == {EVENTS: 30}


def test_a_range_without_its_last_part_is_not_covered() -> None:
    assert covered_by([written(0, 10), written(10, 20, 0, 2)], {EVENTS: 40}, {EVENTS: 1}) == {EVENTS: 10}


def test_ranges_of_a_topic_that_was_recreated_do_not_count() -> None:
    assert covered_by([written(0, 5_000), written(0, 10)], {EVENTS: 12}, {EVENTS: 1}) == {EVENTS: 10}
    assert covered_by([written(0, 5_000)], {EVENTS: 12}, {EVENTS: 1}) == {}


def test_nor_do_those_that_the_new_topic_has_outgrown() -> None:
    former, new = written(0, 5_000, newest_ms=99), written(0, 10, newest_ms=100)
    assert covered_by([former, new], {EVENTS: 6_000}, {EVENTS: 100}) == {EVENTS: 10}
    assert covered_by([former], {EVENTS: 6_000}, {EVENTS: 100}) == {}


def test_records_of_the_ledger_that_are_no_range_cover_nothing() -> None:
    ledger = [b"", written(0, 10), b"\xc1", b"\x80"]
    assert covered_by(ledger, {EVENTS: 12}, {EVENTS: 1}) == {EVENTS: 10}


class Ledger:
    """The topic, with a record an hour, and its reader."""

    def __init__(self, values: list[bytes]) -> None:
        self._values = values
        self.read_at: list[int] = []
        """Offsets that were read."""

    def __enter__(self) -> "Ledger":
        return self

    def __exit__(self, *_: object) -> None:
        """Do nothing."""

    def whole(self, topics: tuple[str, ...]) -> list[OffsetRange]:
        return [OffsetRange(topic, 0, 0, len(self._values)) for topic in topics]

    def since(self, spans: list[OffsetRange], at_ms: int) -> list[OffsetRange]:
        return [span._replace(start=max(span.start, -(-at_ms // HOUR_MS))) for span in spans]

    def read(self, spans: list[OffsetRange]) -> Iterator[Any]:
        for span in spans:
            for offset in range(span.start, span.end):
                self.read_at.append(offset)
                yield SimpleNamespace(value=lambda at=offset: self._values[at])


@pytest.mark.parametrize(
    ("first_hour", "read"),
    [(2 * BLOCK, 0), (2 * BLOCK - 5, 5), (BLOCK // 2, BLOCK + BLOCK // 2), (0, 2 * BLOCK)],
)
def test_the_ledger_is_read_back_to_the_first_record_of_what_is_not_covered(
    first_hour: int, read: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = Ledger([written(0, 5, newest_ms=HOUR_MS)] * (2 * BLOCK))
    a_clock_behind = first_hour * HOUR_MS + 30_000
    monkeypatch.setattr(audit_start, "OffsetRangeReader", lambda *_, **__: ledger)
    monkeypatch.setattr(
        audit_start, "first_times", lambda _: {("events", 0): 1, ("quarantine", 0): a_clock_behind}
    )
    assert covered_offsets("127.0.0.1:1", {("quarantine", "0"): 3}) == {}
    assert len(ledger.read_at) == read
    ledger.read_at.clear()
    assert covered_offsets("127.0.0.1:1", {EVENTS: 5}) == {EVENTS: 5}
    assert len(ledger.read_at) == BLOCK, "no more once it is covered"
