"""Spark and Python trace the same events under the same names; ingest stamps them."""

import json

from hypothesis import strategies as st
from pyspark.sql import SparkSession
from pyspark.sql import functions as fn

from pipelines.data.ingest.transforms import events
from shared.contracts import headers as h
from shared.contracts.tracing import is_sampled as chosen
from shared.contracts.tracing import own_traceparent
from shared.spark import tracing
from tests.spark.events import header_map, headers, kafka_rows, one_partition
from tests.spark.patterns import drawn

_TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=20)
_STAMPS = {h.TENANT: "acme", h.SOURCE: "player", h.RECEIVED: "1767225600123"}
CHOSEN = next(f"e{n}" for n in range(100_000) if chosen(f"e{n}"))
CLIENTS = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00"


def test_spark_derives_what_python_derives(spark: SparkSession) -> None:
    pairs = drawn(st.tuples(_TEXT, _TEXT), 400)
    named = one_partition(spark, pairs, "tenant string, id string")

    rows = named.select("tenant", "id", tracing.own_traceparent(fn.col("tenant"), fn.col("id")).alias("own"))

    assert [row["own"] for row in rows.collect()] == [own_traceparent(*pair) for pair in pairs]


def test_spark_chooses_what_python_chooses(spark: SparkSession) -> None:
    ids = spark.range(0, 50_000, 1, 1).select(
        fn.concat(fn.lit("é-"), fn.col("id").cast("string")).alias("id")
    )

    found = {row["id"] for row in ids.where(tracing.is_sampled(fn.col("id"))).collect()}

    assert found == {f"é-{n}" for n in range(50_000) if chosen(f"é-{n}")}
    assert found


def test_ingest_stamps_a_chosen_event_that_has_no_traceparent(spark: SparkSession) -> None:
    common = {"source": "/p", "type": "t", "time": "2026-01-01T00:00:00Z", "minute": 29_453_760}
    items = [
        {**common, "id": CHOSEN},
        {**common, "id": CHOSEN, "headers": {"ce_subject": "s"}},
        {**common, "id": CHOSEN, "headers": {h.TRACEPARENT: CLIENTS}},
        {**common, "id": "e"},
    ]
    record = (json.dumps(items).encode(), headers(_STAMPS))

    rows = events(kafka_rows(spark, "collected", [record])).collect()

    own = own_traceparent("acme", CHOSEN)
    assert [header_map(row).get(h.TRACEPARENT) for row in rows] == [own, own, CLIENTS, None]
    assert all(len({each["key"] for each in row["headers"]}) == len(row["headers"]) for row in rows)
