"""Rows of an Arrow batch to events, and what is wrong with those that cannot be sent."""

from collections.abc import Iterator
from typing import Any, Final

import msgspec
import pyarrow as pa

from pipelines.data.transmit.events import Event, Poison, headers_of
from shared.contracts import headers as h
from shared.contracts.limits import MAX_HEADERS_BYTES, MAX_READABLE_BYTES
from shared.contracts.receipts import KEY_BYTES

_COLUMNS: Final = (
    "key",
    "value",
    "pipe",
    "id",
    "minute",
    "received",
    "attempt",
    "first_try",
    "attributes",
    "content_type",
)
"""In the order of Event's fields."""

_any_json = msgspec.json.Decoder(msgspec.Raw)


def read(batch: pa.RecordBatch) -> Iterator[Event | Poison]:
    """The rows of a batch in schema.FLAT, one of the two for each."""
    columns: list[list[Any]] = [batch.column(name).to_pylist() for name in _COLUMNS]
    rows = range(batch.num_rows)
    for fields in zip(*columns, [batch] * batch.num_rows, rows, strict=True):
        event = Event(*fields)
        problem = _stamp_problem(event) or _attribute_problem(event) or _data_problem(event)
        yield _poison(event, problem) if problem else event


def _stamp_problem(event: Event) -> str:
    """What hifi's own nodes should have written and did not. Fields of an unchecked event may be None."""
    if event.key is None or len(event.key) != KEY_BYTES:
        return f"unreadable: the key is not {KEY_BYTES} bytes"
    for name, value in ((h.PIPE, event.pipe), (h.CE_ID, event.id)):
        if value is None:
            return f"unreadable: no header {name}"
    stamps = ((h.MINUTE, event.minute), (h.RECEIVED, event.received_ms), (h.ATTEMPT, event.attempt))
    for name, number in stamps:
        if number is None:
            return f"unreadable: header {name} is missing or not a whole number"
    return "" if event.attempt > 0 else f"unreadable: header {h.ATTEMPT} is less than 1"


def _attribute_problem(event: Event) -> str:
    """What CloudEvents requires. Spark writes no spaces and escapes quotes in values: a find is a member."""
    if b'"source":"' not in event.attributes:
        return f"unreadable: no header {h.CE_SOURCE}"
    if b'"type":"' not in event.attributes:
        return f"unreadable: no header {h.CE_TYPE}"
    too_large = len(event.attributes) > MAX_HEADERS_BYTES or len(event.value or b"") > MAX_READABLE_BYTES
    return "oversized: more than any node writes" if too_large else ""


def _data_problem(event: Event) -> str:
    """Why the data cannot be spliced into a request: it would spoil the body for its neighbours."""
    if event.value is None or not event.is_json:
        return ""
    try:
        _any_json.decode(event.value)
        if not event.value.isascii():
            event.value.decode()
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        return f"bad_data: declared as JSON, but {error}"
    return ""


def _poison(event: Event, reason: str) -> Poison:
    topic, partition, offset = (
        event.batch.column(name)[event.row].as_py() for name in ("topic", "partition", "offset")
    )
    headers = headers_of(event.batch, event.row)
    return Poison(event.key, event.value, headers, f"{topic}/{partition}/{offset}", reason)
