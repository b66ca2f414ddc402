"""When a waiting record is due and which record is written then. Pure."""

from itertools import takewhile
from typing import Final, NamedTuple

from shared.contracts import headers as h
from shared.contracts.headers import Headers, headers_size, quarantine_headers, whole_number
from shared.contracts.limits import MAX_READABLE_BYTES
from shared.contracts.retry_times import due_ms
from shared.contracts.topics import Topic

_REPLACED_HEADERS: Final = frozenset((h.ATTEMPT, h.NOT_BEFORE, h.REASON))
"""Written anew, or meaningful only while a record waits."""


class WaitingRecord(NamedTuple):
    """A record of a retry topic."""

    topic: Topic
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    headers: Headers
    written_ms: int
    """The record's own Kafka timestamp, epoch milliseconds."""


class OutputRecord(NamedTuple):
    """A record to write."""

    topic: Topic
    key: bytes | None
    value: bytes | None
    headers: Headers


class DelayedRecord(NamedTuple):
    """A waiting record as it is kept until it is due."""

    offset: int
    due_ms: int
    output: OutputRecord
    size: int
    """Bytes of the output, roughly."""


def delayed_record(record: WaitingRecord, now_ms: int) -> DelayedRecord:
    """When a record leaves, and as which record; an unreadable one goes to `quarantine` without a delay."""
    found = dict(record.headers)
    not_before, attempt = whole_number(found.get(h.NOT_BEFORE)), whole_number(found.get(h.ATTEMPT))
    if not_before is None:
        return _delayed(record, 0, quarantined(record, _problem(h.NOT_BEFORE)))
    if attempt is None:
        return _delayed(record, 0, quarantined(record, _problem(h.ATTEMPT)))
    due = due_ms(record.topic, not_before, record.written_ms, now_ms)
    return _delayed(record, due, released(record, attempt + 1))


def _delayed(record: WaitingRecord, due: int, output: OutputRecord) -> DelayedRecord:
    size = len(output.key or b"") + len(output.value or b"") + headers_size(output.headers)
    return DelayedRecord(record.offset, due, output, size)


def released(record: WaitingRecord, attempt: int) -> OutputRecord:
    """The record for transmit to send again: same key and bytes, the next attempt."""
    kept = [header for header in record.headers if header[0] not in _REPLACED_HEADERS]
    return OutputRecord(
        Topic.RETRY_OUT, record.key, record.value, [*kept, (h.ATTEMPT, str(attempt).encode())]
    )


def to_one_topic(due: list[DelayedRecord]) -> list[DelayedRecord]:
    """The first records, up to one that goes to another topic than they do.

    A topic that takes nothing must not leave those written that stand behind its record in the partition:
    they could not be committed, and would be written again.
    """
    return list(takewhile(lambda record: record.output.topic == due[0].output.topic, due))


def quarantined(record: WaitingRecord, reason: str) -> OutputRecord:
    """The record with the reason and its origin; truncated if it is too large."""
    origin = f"{record.topic}/{record.partition}/{record.offset}"
    value = record.value and record.value[:MAX_READABLE_BYTES]
    headers = quarantine_headers(record.headers, reason, origin)
    return OutputRecord(Topic.QUARANTINE, record.key, value, headers)


def _problem(header: str) -> str:
    return f"unreadable: header {header} is missing or not a whole number"
