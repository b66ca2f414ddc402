"""Records of every tallied topic, and a recount of them in plain Python."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

import msgspec
import numpy as np
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession

from pipelines.control.audit.aggregation import tallied
from pipelines.control.audit.transforms import rows
from shared.contracts.envelope import collected_item, encode_items
from shared.contracts.lag_histogram import Histogram, histogram
from shared.contracts.ledger import Range, Stage, Tally
from shared.contracts.receipts import Receipt
from shared.contracts.topics import Topic
from tests.spark.events import Headers, headers, one_partition

RECEIVED = 1_767_225_600_000
"""2026-01-01T00:00:00Z."""

MINUTE = RECEIVED // 60_000
WRITTEN = RECEIVED + 250

_RECORD = (
    "key binary, value binary, topic string, partition int, offset bigint, timestamp timestamp, "
    "headers array<struct<key:string,value:binary>>"
)


@dataclass
class Record:
    """A record as a broker has it."""

    topic: Topic
    value: bytes | None = b"{}"
    headers: Headers = field(default_factory=list)
    offset: int = 0
    partition: int = 0
    written_ms: int = WRITTEN


def time_text(ms: int) -> str:
    return datetime.fromtimestamp(ms / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def event(
    topic: Topic, event_id: str = "e", *, time: str | None = None, minute: int = MINUTE, **more: str
) -> Record:
    """A record of one event; keyword arguments replace or add headers."""
    texts = {
        "ce_specversion": "1.0",
        "ce_id": event_id,
        "ce_source": "/players/7",
        "ce_type": "heartbeat",
        "ce_time": time_text(RECEIVED - 40) if time is None else time,
        "hifi_minute": str(minute),
        "hifi_tenant": "acme",
        "hifi_source": "player",
        "hifi_received": str(RECEIVED),
    }
    return Record(topic, headers=headers(texts | more))


def replaced(record: Record, old: str, new: bytes) -> Record:
    """The record with other bytes in place of a text, in its value and headers."""
    changed = [
        (key, value.replace(old.encode(), new) if isinstance(value, bytes) else value)
        for key, value in record.headers
    ]
    return replace(record, value=(record.value or b"").replace(old.encode(), new), headers=changed)


def collected(*ids: str, time: str | None = None, tenant: str = "acme", minute: int = MINUTE) -> Record:
    items = [
        collected_item(
            {
                "id": i,
                "source": "/players/7",
                "type": "heartbeat",
                "time": time_text(RECEIVED - 40) if time is None else time,
            },
            minute=minute,
            data='{"n": 1}',
        )
        for i in ids
    ]
    stamps = {"hifi_tenant": tenant, "hifi_source": "player", "hifi_received": str(RECEIVED)}
    return Record(Topic.COLLECTED, encode_items(items), headers(stamps))


def receipt(*ids: str, **changes: object) -> Record:
    told = {
        "destination": "d",
        "pipe": "p",
        "result": "delivered",
        "ids": list(ids),
        "minutes": [MINUTE] * len(ids),
        "status": 200,
        "tries": 1,
        "attempt": 1,
        "received_ms": [RECEIVED] * len(ids),
        "departed_ms": RECEIVED + 300,
        "tenant": "acme",
        "since_ms": [RECEIVED - 40] * len(ids),
    }
    return Record(Topic.RECEIPTS, msgspec.json.encode(Receipt(**told | changes)))  # type: ignore[arg-type]


def frame(spark: SparkSession, records: Iterable[Record]) -> DataFrame:
    """Records in the Kafka source's form, in one task."""
    found = [
        (
            None,
            record.value,
            record.topic.value,
            record.partition,
            record.offset,
            datetime.fromtimestamp(record.written_ms / 1000, UTC),
            record.headers,
        )
        for record in records
    ]
    return one_partition(spark, found, _RECORD)


def audited(spark: SparkSession, cases: Sequence[Sequence[Record]]) -> list[list[Range]]:
    """The ledger's ranges of each case's records, in the order of topics; offsets start at 0 in each.

    One job for all: each case is a partition.
    """
    records = [record for number, case in enumerate(cases) for record in _placed(case, number)]
    table = rows(frame(spark, records)).toArrow()
    mine = (table.filter(pc.equal(table["partition"], number)) for number in range(len(cases)))
    return [list(tallied(each.to_batches())) for each in mine]


def _placed(records: Sequence[Record], partition: int) -> Iterator[Record]:
    """The records, in the order of topics, in one partition of each."""
    offsets: Counter[Topic] = Counter()
    for record in sorted(records, key=lambda record: list(Topic).index(record.topic)):
        yield replace(record, partition=partition, offset=offsets[record.topic])
        offsets[record.topic] += 1


def only(ranges: list[Range]) -> Tally:
    """The single tally of a single range."""
    (found,) = ranges
    (tally,) = found.tallies
    return tally


def by_stage(ranges: list[Range]) -> dict[Stage, list[Tally]]:
    found: dict[Stage, list[Tally]] = {}
    for tally in (tally for each in ranges for tally in each.tallies):
        found.setdefault(tally.stage, []).append(tally)
    return found


def lag(ms: int) -> Histogram:
    """One lag in a tally's form."""
    return histogram(np.array([ms]))
