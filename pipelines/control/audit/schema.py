"""Columns between the JVM and the Python workers, and from there to Kafka."""

from typing import Final

import pyarrow as pa

from shared.contracts import headers as h
from shared.contracts.envelope import REQUIRED_ATTRIBUTES

ITEM: Final = (
    f"struct<{','.join(f'{name}:string' for name in REQUIRED_ATTRIBUTES)},minute:bigint,data_base64:string,"
    f"headers:struct<{h.TRACEPARENT}:string>>"
)
"""Of a `collected` item what tells whether it is an event, and which. Its data is passed over."""

RECEIPT: Final = (
    "struct<tenant:string,destination:string,pipe:string,result:string,status:int,reason:string,"
    "breaker:string,lane:string,departed_ms:bigint,"
    "ids:array<string>,minutes:array<bigint>,received_ms:array<bigint>,since_ms:array<bigint>,"
    "traces:map<string,string>>"
)
"""`shared.contracts.receipts.Receipt`, what audit needs of it."""

PLACE: Final = ("topic", "partition", "offset", "timestamp_ms")
"""Where a row's record is."""

TEXTS: Final = (
    "kind",
    "tenant",
    "name",
    "destination",
    "reason",
    "breaker",
    "lane",
    "traceparent",
    "traced_id",
)
"""What a row says in words; `kind` is a receipt's result, or which of an event's outbound copies it is.
The last two are null but of an event that is traced; the former of one that ingest will choose, too."""

NUMBERS: Final = ("minute", "id_hash", "time_ms", "received_ms", "departed_ms", "due_ms", "status")
"""What it says in numbers; null for what it does not. `id_hash` is null where the record holds no event that
can be read. `time_ms` is the event's own time, or of a receipt what transmit counted from."""

ROWS: Final = (*PLACE, *TEXTS, *NUMBERS)
"""What `transforms.rows` gives and `tallying.tally` takes."""

OUTPUT: Final = "topic string, key binary, value binary"
"""Rows of the Kafka sink, in Spark's words."""

OUTPUT_ARROW: Final = pa.schema([("topic", pa.string()), ("key", pa.binary()), ("value", pa.binary())])
"""The same in Arrow's."""
