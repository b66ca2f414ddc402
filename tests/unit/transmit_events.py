"""Events for tests of transmit, made without Spark."""

import hashlib
import json
from typing import Any

import pyarrow as pa

from pipelines.data.transmit.events import Event
from pipelines.data.transmit.schema import FLAT

_HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
_TYPES = {
    "key": pa.binary(),
    "value": pa.binary(),
    "headers": _HEADERS,
    "partition": pa.int32(),
    "offset": pa.int64(),
    "minute": pa.int64(),
    "received": pa.int64(),
    "attempt": pa.int64(),
    "first_try": pa.int64(),
    "attributes": pa.binary(),
}


def row(number: int, **changes: object) -> dict[str, object]:
    """A row in schema.FLAT; `changes` replace fields."""
    attributes = {"specversion": "1.0", "id": f"e{number}", "source": "test", "type": "t"}
    return {
        "key": hashlib.md5(str(number).encode()).digest(),
        "value": b'{"n":%d}' % number,
        "headers": [{"key": "ce_id", "value": f"e{number}".encode()}],
        "topic": "outbound",
        "partition": 0,
        "offset": number,
        "pipe": "p1",
        "id": f"e{number}",
        "minute": 29_000_000,
        "received": 1_740_000_000_000,
        "attempt": 1,
        "first_try": None,
        "attributes": json.dumps(attributes, separators=(",", ":")).encode(),
        "content_type": "application/json",
        **changes,
    }


def flat_batch(rows: list[dict[str, object]]) -> pa.RecordBatch:
    """Rows as Spark hands them to a worker."""
    columns = {name: pa.array([r[name] for r in rows], _TYPES.get(name, pa.string())) for name in FLAT}
    return pa.RecordBatch.from_pydict(columns)


def event(number: int = 1, **changes: object) -> Event:
    """One event; its batch holds nothing but its own row."""
    fields = row(number, **changes)
    batch = flat_batch([fields])
    names = ("key", "value", "pipe", "id", "minute", "received", "attempt", "first_try", "attributes")
    values: list[Any] = [*(fields[n] for n in names), fields["content_type"], batch, 0]
    return Event(*values)
