"""Events for tests of transmit, made without Spark."""

import hashlib
from typing import Any

import msgspec
import pyarrow as pa

from pipelines.data.transmit.delivery.record_parser import read
from pipelines.data.transmit.events import Event, Poison
from pipelines.data.transmit.schema import FLAT
from shared.contracts import headers as h

_TYPES = {
    "key": pa.binary(),
    "value": pa.binary(),
    "headers": pa.binary(),
    "partition": pa.int32(),
    "offset": pa.int64(),
}
_STAMPS = {
    "pipe": h.PIPE,
    "id": h.CE_ID,
    "minute": h.MINUTE,
    "received": h.RECEIVED,
    "attempt": h.ATTEMPT,
    "first_try": h.FIRST_TRY,
    "reason": h.REASON,
    "tenant": h.TENANT,
    "time": h.CE_TIME,
    "traceparent": h.TRACEPARENT,
    "replay": h.REPLAY,
    "content_type": h.CONTENT_TYPE,
}
_DEFAULTS = {
    "tenant": "t",
    "pipe": "p1",
    "minute": 29_000_000,
    "received": 1_740_000_000_000,
    "attempt": 1,
    "content_type": "application/json",
}


def row(number: int, **changes: object) -> dict[str, object]:
    """A row of schema.FLAT; `changes` replace its fields or headers."""
    stamps = {**_DEFAULTS, "id": f"e{number}"} | {n: v for n, v in changes.items() if n in _STAMPS}
    headers = {"ce_specversion": "1.0", "ce_source": "test", "ce_type": "t"}
    headers |= {_STAMPS[name]: str(value) for name, value in stamps.items() if value is not None}
    return {
        "key": hashlib.md5(str(number).encode()).digest(),
        "value": b'{"n":%d}' % number,
        "headers": msgspec.json.encode(headers),
        "topic": "outbound",
        "partition": 0,
        "offset": number,
        **{name: value for name, value in changes.items() if name not in _STAMPS},
    }


def flat_batch(rows: list[dict[str, object]]) -> pa.RecordBatch:
    """Rows as Spark hands them to a worker."""
    columns = {name: pa.array([r[name] for r in rows], _TYPES.get(name, pa.string())) for name in FLAT}
    return pa.RecordBatch.from_pydict(columns)


def event(number: int = 1, **changes: Any) -> Event:
    """One event."""
    (found,) = read(flat_batch([row(number, **changes)]))
    assert not isinstance(found, Poison), found
    return found
