"""What becomes of a waiting record: when it is due, and what is written then. Pure."""

from typing import Final, NamedTuple

from shared.contracts import headers as h
from shared.contracts.limits import MAX_HEADERS_BYTES, MAX_READABLE_BYTES
from shared.contracts.topics import RETRY_DELAYS, Topic

Headers = list[tuple[str, bytes | None]]
"""Kafka headers in order; a name may occur twice, and then the last one counts."""

_MAX_DIGITS: Final = 15
"""Of a whole number in a header: as milliseconds, thirty thousand years."""

_SPENT: Final = frozenset((h.ATTEMPT, h.NOT_BEFORE, h.REASON))
"""What is said anew, or only of a record that waits."""


class Record(NamedTuple):
    """A record of a waiting topic."""

    topic: Topic
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    headers: Headers
    written_ms: int
    """The record's own Kafka timestamp, epoch milliseconds."""


class Output(NamedTuple):
    """A record to write."""

    topic: Topic
    key: bytes | None
    value: bytes | None
    headers: Headers


class Held(NamedTuple):
    """What is kept of a waiting record until it is due."""

    offset: int
    due_ms: int
    output: Output
    size: int
    """About how many bytes the output holds."""


def delay_ms(topic: Topic) -> int:
    """How long a record waits in a topic at most, milliseconds."""
    return int(RETRY_DELAYS[topic].total_seconds() * 1000)


def hold(record: Record, now_ms: int) -> Held:
    """When a record leaves, and as what; one that cannot be read leaves at its turn, for `quarantine`."""
    found = dict(record.headers)
    not_before, attempt = _whole(found.get(h.NOT_BEFORE)), _whole(found.get(h.ATTEMPT))
    if not_before is None:
        return _held(record, 0, quarantined(record, _problem(h.NOT_BEFORE)))
    if attempt is None:
        return _held(record, 0, quarantined(record, _problem(h.ATTEMPT)))
    return _held(record, due_ms(record, not_before, now_ms), released(record, attempt + 1))


def _held(record: Record, due: int, output: Output) -> Held:
    size = len(output.key or b"") + len(output.value or b"") + headers_size(output.headers)
    return Held(record.offset, due, output, size)


def due_ms(record: Record, not_before_ms: int, now_ms: int) -> int:
    """When a record may leave, epoch milliseconds.

    transmit promises that no record waits longer than its topic's delay. One that claims otherwise must not
    hold up those behind it, nor must a clock that was set back.
    """
    delay = delay_ms(record.topic)
    return min(not_before_ms, record.written_ms + delay, now_ms + delay)


def released(record: Record, attempt: int) -> Output:
    """The record for transmit to send again: same key and bytes, the next attempt."""
    kept = [header for header in record.headers if header[0] not in _SPENT]
    return Output(Topic.RETRY_OUT, record.key, record.value, [*kept, (h.ATTEMPT, str(attempt).encode())])


def quarantined(record: Record, reason: str) -> Output:
    """The record, as far as one can hold it, with the reason and where it came from."""
    kept = record.headers if headers_size(record.headers) <= MAX_HEADERS_BYTES else []
    origin = f"{record.topic}/{record.partition}/{record.offset}"
    added: Headers = [(h.REASON, reason.encode()), (h.ORIGIN, origin.encode())]
    value = record.value and record.value[:MAX_READABLE_BYTES]
    return Output(Topic.QUARANTINE, record.key, value, kept + added)


def headers_size(headers: Headers) -> int:
    """Bytes of all names and values."""
    return sum(len(name.encode()) + len(value or b"") for name, value in headers)


def _problem(header: str) -> str:
    return f"unreadable: header {header} is missing or not a whole number"


def _whole(value: bytes | None) -> int | None:
    """The number that a header says, None if it says none."""
    if value is None or not value.isdigit() or len(value) > _MAX_DIGITS:
        return None
    return int(value)
