"""Audit's column expressions, compared with the contract's functions."""

import re

from hypothesis import strategies as st
from pyspark.sql import SparkSession
from pyspark.sql import functions as fn

from shared.contracts.event_hash import id_hash
from shared.contracts.timestamps import parse_time
from shared.spark.columns import rfc3339_ms
from tests.spark.events import one_partition
from tests.spark.patterns import drawn

_DRAWN = 400


def test_spark_hashes_ids_as_the_contract_does(spark: SparkSession) -> None:
    texts = ["", *drawn(st.text(st.characters(codec="utf-8")), _DRAWN)]
    found = one_partition(spark, [(text,) for text in texts], "id string").select(fn.xxhash64("id")).collect()
    assert [row[0] % 2**64 for row in found] == [id_hash(text) for text in texts]


EDGES = [
    "0001-01-01T00:00:00Z",
    "9999-12-31T23:59:59.999999999Z",
    "2016-12-31T23:59:60Z",
    "2016-12-31t23:59:60.5z",
    "2026-01-01 00:00:00.1+23:59",
    "2026-01-01T00:00:00-00:30",
    "1969-12-31T23:59:59.9999Z",
]


@st.composite
def time_texts(draw: st.DrawFn) -> str:
    moment = draw(st.datetimes()).isoformat(timespec="seconds")
    fraction = draw(st.sampled_from(["", ".", ".0"])) + draw(st.from_regex(r"[0-9]{0,12}", fullmatch=True))
    zone = draw(st.sampled_from(["Z", "z", "+", "-"]))
    if zone in "+-":
        zone += f"{draw(st.integers(0, 23)):02}:{draw(st.integers(0, 59)):02}"
    text = moment.replace("T", draw(st.sampled_from("Tt "))) + (fraction if len(fraction) > 1 else "") + zone
    return re.sub(r":\d\d(?=[.Zz+-])", ":60", text, count=1) if draw(st.integers(0, 9)) == 0 else text


def test_spark_reads_times_as_collect_does(spark: SparkSession) -> None:
    taken = [text for text in [*EDGES, *drawn(time_texts(), _DRAWN)] if parse_time(text) is not None]
    rows = one_partition(spark, [(text,) for text in taken], "time string")
    found = rows.select(rfc3339_ms(fn.col("time")))
    told = dict(zip(taken, (row[0] for row in found.collect()), strict=True))
    assert told == {text: parse_time(text) for text in taken}
    assert len(taken) >= len(EDGES)
