"""Events as transmit handles them: one light object a row of the Arrow batch."""

from collections.abc import Iterator
from typing import Any, Final

import msgspec
import pyarrow as pa

from shared.contracts.envelope import is_json

_JSON: Final = "application/json"

Headers = list[tuple[str, bytes | None]]
"""Kafka headers in order; a name may occur twice."""


class Event(msgspec.Struct, gc=False):
    """One outbound record; `batch` and `row` lead back to all of it."""

    key: bytes
    """Delivery key, 16 bytes."""

    value: bytes | None
    """The bytes of `data`."""

    pipe: str
    id: str
    minute: int
    received_ms: int
    attempt: int
    first_try_ms: int | None
    attributes: bytes
    """The CloudEvents attributes as a JSON object, `datacontenttype` included."""

    content_type: str | None
    batch: pa.RecordBatch
    row: int

    @property
    def headers(self) -> Headers:
        """The record's headers as they came."""
        return headers_of(self.batch, self.row)

    @property
    def is_json(self) -> bool:
        """Whether the data is JSON; the commonest answers come without a parse of the content type."""
        return self.content_type is None or self.content_type == _JSON or is_json(self.content_type)


class Poison(msgspec.Struct, frozen=True):
    """A record that cannot be sent to anybody."""

    key: bytes | None
    value: bytes | None
    headers: Headers
    origin: str
    """`topic/partition/offset`."""

    reason: str


def headers_of(batch: pa.RecordBatch, row: int) -> Headers:
    """Headers of one row, from the batch's `headers` column."""
    found = batch.column("headers")[row].as_py() or []
    return [(header["key"], header["value"]) for header in found]


def read(batch: pa.RecordBatch) -> Iterator[Event | Poison]:
    """The rows of a batch in schema.FLAT, one of the two for each."""
    columns: list[list[Any]] = [batch.column(name).to_pylist() for name in _COLUMNS]
    rows = range(batch.num_rows)
    for row, fault, *fields in zip(rows, *columns, [batch] * batch.num_rows, rows, strict=True):
        if fault:
            yield _poison(batch, row, fault)
            continue
        event = Event(*fields)
        problem = _data_problem(event)
        yield _poison(batch, row, problem) if problem else event


_COLUMNS: Final = (
    "fault",
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


def _poison(batch: pa.RecordBatch, row: int, reason: str) -> Poison:
    topic, partition, offset = (batch.column(name)[row].as_py() for name in ("topic", "partition", "offset"))
    key, value = (batch.column(name)[row].as_py() for name in ("key", "value"))
    return Poison(key, value, headers_of(batch, row), f"{topic}/{partition}/{offset}", reason)


_any_json = msgspec.json.Decoder(msgspec.Raw)


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
