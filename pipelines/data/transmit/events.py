"""Events as transmit handles them: one light object a row of the Arrow batch."""

from typing import Final

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
