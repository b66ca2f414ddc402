"""Columns between the JVM and the Python workers, and from there to Kafka."""

from typing import Final

import pyarrow as pa

from shared.contracts import headers as h
from shared.contracts.envelope import REQUIRED_ATTRIBUTES

ITEM: Final = (
    f"struct<{','.join(f'{name}:string' for name in REQUIRED_ATTRIBUTES)},minute:bigint,data_base64:string,"
    f"headers:struct<{h.TRACEPARENT}:string>>"
)
"""The fields of a `collected` item that identify an event; its data is skipped."""

RECEIPT: Final = (
    "struct<tenant:string,destination:string,pipe:string,result:string,status:int,reason:string,replay:string,"
    "breaker:string,lane:string,departed_ms:bigint,"
    "ids:array<string>,minutes:array<bigint>,received_ms:array<bigint>,since_ms:array<bigint>,"
    "traces:map<string,string>>"
)
"""The fields of `shared.contracts.receipts.Receipt` that audit needs."""

WATCHED: Final = "array<struct<field:string,kind:string,values:array<string>>>"
"""The header WATCHED: each field with the tagged texts of its values."""

PLACE: Final = ("topic", "partition", "offset", "timestamp_ms")
"""The location of a row's record."""

TEXTS: Final = (
    "kind",
    "tenant",
    "name",
    "destination",
    "reason",
    "breaker",
    "lane",
    "replay",
    "traceparent",
    "traced_id",
)
"""Text columns. `kind` is a receipt's result, or which of an event's outbound copies it is; a dead
letter's is LETTER if it was replayed and died again. `replay` is null or empty unless the event was processed
again. The last two are null unless the event is traced; `traceparent` is also null for one that ingest has
still to sample."""

NUMBERS: Final = ("minute", "id_hash", "time_ms", "received_ms", "departed_ms", "due_ms", "status")
"""Number columns, null where unknown. `id_hash` is null if the record holds no readable event. `time_ms` is
the event's own time; for a receipt, the time that transmit measured lags from."""

ROWS: Final = (*PLACE, *TEXTS, *NUMBERS, "watched")
"""Columns from `transforms.rows` to `aggregation.tally`. `watched` is empty unless the pipe watches fields,
and never null. Spark measures its Arrow batch after each row, and each time Arrow fills the offsets of all
null lists at the end of the column again: that cost grows with the square of the rows."""

OUTPUT: Final = "topic string, key binary, value binary"
"""Rows of the Kafka sink, in Spark's words."""

OUTPUT_ARROW: Final = pa.schema([("topic", pa.string()), ("key", pa.binary()), ("value", pa.binary())])
"""The same in Arrow's."""
