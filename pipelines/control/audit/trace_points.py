"""Turns rows of traced events into records of `traces`; they are few, so each is handled by itself."""

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from pipelines.control.audit.stages import STAGES, events
from shared.contracts.ledger import Stage
from shared.contracts.topics import Topic
from shared.contracts.tracing import TracePoint, own_traceparent, traced


def trace_points(rows: pa.Table) -> Iterator[TracePoint]:
    """The trace points in the rows of a range, which are all of one partition."""
    if rows["traced_id"].null_count == rows.num_rows:
        return
    topic = Topic(rows["topic"][0].as_py())
    traced_rows = pc.and_(rows["traced_id"].is_valid(), rows["id_hash"].is_valid())
    for row in events(topic, rows.filter(traced_rows)).to_pylist():
        stage = STAGES[row["stage"]]
        traceparent = _traceparent(stage, row)
        if stage is not Stage.CLAIMED and traced(traceparent):
            yield _point(topic, stage, row, traceparent)


def _traceparent(stage: Stage, row: dict[str, Any]) -> str:
    """The traceparent, empty if untraced; what ingest will write if the event is only collected yet."""
    if row["traceparent"] is None and stage is Stage.COLLECTED:
        return own_traceparent(row["tenant"], row["traced_id"])
    return row["traceparent"] or ""


def _point(topic: Topic, stage: Stage, row: dict[str, Any], traceparent: str) -> TracePoint:
    return TracePoint(
        traceparent=traceparent,
        tenant=row["tenant"] or "",
        id=row["traced_id"],
        stage=stage,
        name=row["name"] or "",
        destination=row["destination"] or "",
        begin_ms=row["received_ms"],
        end_ms=row["timestamp_ms"] if row["departed_ms"] is None else row["departed_ms"],
        topic=topic,
        partition=row["partition"],
        offset=row["offset"],
        result=_result(row) if stage in (Stage.RETRYING, Stage.DEAD) else "",
    )


def _result(row: dict[str, Any]) -> str:
    status = "-" if row["status"] is None else row["status"]
    return f"{status} {row['reason'] or ''}".rstrip()
