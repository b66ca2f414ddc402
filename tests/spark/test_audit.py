"""Each tallied topic's records, as the ledger has them: whose, when, where, how late."""

import re
from datetime import timedelta
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession
from pyspark.sql import functions as fn

from pipelines.control.audit.tallying import VALUE_BYTES, tallied, tally
from pipelines.control.audit.times import time_ms
from pipelines.control.audit.transforms import rows
from shared.contracts.envelope import lag_since
from shared.contracts.lags import histogram, merged
from shared.contracts.ledger import FEW, Range, Stage, Tally, decode_range
from shared.contracts.sketch import Sketch, id_hash
from shared.contracts.times import parse_time
from shared.contracts.topics import Topic
from tests.spark.audit_records import (
    MINUTE,
    RECEIVED,
    WRITTEN,
    Record,
    audited,
    by_stage,
    collected,
    event,
    frame,
    only,
    receipt,
    time_text,
)
from tests.spark.events import headers

pytestmark = pytest.mark.spark
DAY_MS = int(timedelta(days=1).total_seconds() * 1000)


def hashes(tally: Tally) -> list[int]:
    return sorted(np.frombuffer(tally.hashes, "<u8").tolist())


def lag(ms: int) -> dict[int, int]:
    return histogram(np.array([ms]))


def test_items_of_a_collected_record_count_for_their_source(spark: SparkSession) -> None:
    (found,) = audited(spark, collected("a", "b", "c"), collected("d"))
    (tally,) = found.tallies
    assert (found.topic, found.start, found.end, found.newest_ms) == (Topic.COLLECTED, 0, 2, WRITTEN)
    assert (tally.stage, tally.tenant, tally.minute, tally.name) == (
        Stage.COLLECTED,
        "acme",
        MINUTE,
        "player",
    )
    assert (tally.count, tally.first, tally.last, tally.late) == (4, 0, 1, 0)
    assert hashes(tally) == sorted(id_hash(i) for i in "abcd")
    assert tally.hash_sum == sum(id_hash(i) for i in "abcd") % 2**64
    assert tally.lag_in == dict.fromkeys(lag(40), 4)
    assert tally.lag_out == dict.fromkeys(lag(290), 4)


@pytest.mark.parametrize(
    ("topic", "stage", "name"),
    [
        (Topic.EVENTS, Stage.EVENTS, ""),
        (Topic.UNMATCHED, Stage.UNMATCHED, ""),
        (Topic.OUTBOUND, Stage.FIRST, "p"),
        (Topic.RETRY_OUT, Stage.RETRIED, "p"),
        (Topic.RETRY_IN_30S, Stage.WAITING, "p"),
        (Topic.RETRY_IN_5M, Stage.WAITING, "p"),
        (Topic.RETRY_IN_1H, Stage.WAITING, "p"),
        (Topic.DEAD_LETTER, Stage.DEAD_LETTER, "p"),
    ],
)
def test_record_of_one_event_counts_as_its_topic_says(
    spark: SparkSession, topic: Topic, stage: Stage, name: str
) -> None:
    pipe: dict[str, Any] = {"hifi_pipe": name} if name else {}
    tally = only(audited(spark, event(topic, "x", **pipe)))
    assert (tally.stage, tally.tenant, tally.minute, tally.name) == (stage, "acme", MINUTE, name)
    assert (tally.count, hashes(tally), tally.lag_out) == (1, [id_hash("x")], lag(290))
    assert (tally.first_ms, tally.last_ms, tally.lag_in, tally.inside) == (WRITTEN, WRITTEN, {}, {})


def test_waiting_tells_when_the_last_may_leave(spark: SparkSession) -> None:
    waiting = (event(Topic.RETRY_IN_30S, hifi_pipe="p", hifi_not_before=str(RECEIVED + n)) for n in (5, 9, 7))
    assert only(audited(spark, *waiting)).due_ms == RECEIVED + 9


def test_copies_of_an_event_are_told_apart_and_the_first_says_what_others_there_are(
    spark: SparkSession,
) -> None:
    copies = [event(Topic.OUTBOUND, "x", hifi_pipe=pipe, hifi_pipes="a,b,c") for pipe in "abc"]
    letter = event(Topic.OUTBOUND, "y", hifi_pipe="a", hifi_pipes="a,b,c", hifi_letter="0/7")
    found = by_stage(audited(spark, *copies, letter))
    assert {stage: sorted(t.name for t in tallies) for stage, tallies in found.items()} == {
        Stage.FIRST: ["a"],
        Stage.FURTHER: ["b", "c"],
        Stage.CLAIMED: ["b", "c"],
        Stage.LETTER: ["a"],
    }
    assert all(hashes(t) == [id_hash("x")] for s in (Stage.FIRST, Stage.CLAIMED) for t in found[s])
    assert [t.lag_out for t in found[Stage.CLAIMED]] == [{}, {}]


@pytest.mark.parametrize(
    ("result", "stage"),
    [
        ("delivered", Stage.DELIVERED),
        ("retry", Stage.RETRYING),
        ("dead", Stage.DEAD),
        ("duplicate", Stage.DROPPED),
    ],
)
def test_receipt_counts_each_of_its_events(spark: SparkSession, result: str, stage: Stage) -> None:
    tally = only(audited(spark, receipt("a", "b", result=result)))
    assert (tally.stage, tally.name, tally.destination, tally.count) == (stage, "p", "d", 2)
    assert hashes(tally) == sorted((id_hash("a"), id_hash("b")))
    assert tally.lag_out == dict.fromkeys(lag(340), 2)
    assert (tally.breaker, tally.lane) == ("closed", "fast")


def test_delivered_within_a_second_of_receiving_is_good_to_the_millisecond(spark: SparkSession) -> None:
    times = [receipt(str(n), departed_ms=RECEIVED + ms) for n, ms in enumerate((0, 999, 1000, 1001, 5000))]
    tally = only(audited(spark, *times))
    assert (tally.count, tally.good) == (5, 3)
    assert tally.inside == merged(lag(ms) for ms in (0, 999, 1000, 1001, 5000))


def test_failures_say_status_and_word(spark: SparkSession) -> None:
    failed = [
        receipt("a", "b", result="retry", status=503, reason="unavailable: try later"),
        receipt("c", result="retry", status=None, reason="connect: refused", breaker="open", lane="slow"),
        receipt("d", result="retry", status=503, reason="unavailable: other words"),
    ]
    tally = only(audited(spark, *failed))
    assert tally.reasons == {"- connect": 1, "503 unavailable": 3}
    newest = only(audited(spark, *failed[:2]))
    assert (newest.breaker, newest.lane) == ("open", "slow")


def test_receipt_without_the_time_to_count_from_counts_from_receiving(spark: SparkSession) -> None:
    assert only(audited(spark, receipt("a", since_ms=[]))).lag_out == lag(300)


@pytest.mark.parametrize(
    ("skew_ms", "late", "lag_ms"),
    [
        (0, 0, 250),
        (-30_000, 0, 30_250),
        (30_000, 0, 0),
        (30_001, 1, 250),
        (-5 * 60_000, 0, 300_250),
        (-5 * 60_000 - 1, 1, 250),
        (3 * DAY_MS, 1, 250),
        (-3 * DAY_MS, 1, 250),
    ],
)
def test_lag_counts_from_the_moment_that_names_the_minute_and_is_never_negative(
    spark: SparkSession, skew_ms: int, late: int, lag_ms: int
) -> None:
    time = time_text(RECEIVED + skew_ms)
    found = audited(spark, collected("a", time=time), event(Topic.EVENTS, "a", time=time))
    assert [(t.late, t.lag_out) for r in found for t in r.tallies] == [(late, lag(lag_ms))] * 2


def test_time_that_is_none_counts_from_receiving(spark: SparkSession) -> None:
    tally = only(audited(spark, event(Topic.EVENTS, time="yesterday")))
    assert (tally.late, tally.lag_out) == (0, lag(250))


def test_quarantined_record_counts_with_its_id_where_its_headers_tell(spark: SparkSession) -> None:
    known = event(Topic.QUARANTINE, "x", hifi_origin="events/0/7", minute=MINUTE - 3)
    unknown = Record(Topic.QUARANTINE, b"?", headers({"hifi_origin": "collected/1/2", "hifi_tenant": "acme"}))
    nothing = Record(Topic.QUARANTINE, None)
    tallies = by_stage(audited(spark, known, unknown, nothing))[Stage.QUARANTINED]
    told = {(t.tenant, t.minute, t.name, t.count, t.hash_sum, t.sketch.count) for t in tallies}
    assert told == {
        ("acme", MINUTE - 3, "events", 1, id_hash("x"), 1),
        ("acme", MINUTE, "collected", 1, 0, 0),
        ("", MINUTE, "", 1, 0, 0),
    }


POISON = [
    Record(Topic.COLLECTED, None),
    Record(Topic.COLLECTED, b"[{}]"),
    Record(Topic.COLLECTED, b"\xff", collected("a").headers),
    Record(Topic.COLLECTED, b"[", collected("a").headers),
    Record(Topic.COLLECTED, b"[]", collected("a").headers),
    Record(Topic.COLLECTED, b"[1,null,{}]", collected("a").headers),
    Record(Topic.EVENTS, None),
    event(Topic.EVENTS, hifi_minute="soon"),
    event(Topic.EVENTS, hifi_received="x"),
    event(Topic.OUTBOUND),
    event(Topic.RETRY_IN_5M),
    Record(Topic.RECEIPTS, None),
    Record(Topic.RECEIPTS, b"{"),
    Record(Topic.RECEIPTS, b'{"ids":["a"],"minutes":["b"]}'),
    receipt("a", result="eaten"),
    receipt(),
    receipt("a", minutes=[]),
]


def test_poison_counts_for_the_range_alone(spark: SparkSession) -> None:
    found = audited(spark, *POISON)
    assert [tally for each in found for tally in each.tallies] == []
    assert sum(each.end - each.start for each in found) == len(POISON)


def test_good_items_beside_a_bad_one_count(spark: SparkSession) -> None:
    whole = collected("a", "b")
    bad = b'{"id":"c"}', b"7", b"null", b'{"id":"d","data_base64":"!"}'
    whole.value = (whole.value or b"")[:-1] + b"," + b",".join(bad) + b"]"
    assert hashes(only(audited(spark, whole))) == sorted((id_hash("a"), id_hash("b")))


def test_records_of_many_tenants_and_minutes_are_kept_apart(spark: SparkSession) -> None:
    records = [
        event(Topic.EVENTS, f"{tenant}-{n}", hifi_tenant=f"t{tenant}", minute=MINUTE + n % 2)
        for n in range(4)
        for tenant in range(300)
    ]
    (found,) = audited(spark, *records)
    assert len(found.tallies) == 600
    assert all((t.count, t.last - t.first) == (2, 600) for t in found.tallies)


def test_range_with_very_much_to_say_takes_several_records(spark: SparkSession) -> None:
    records = [
        event(Topic.EVENTS, f"{n}-{'x' * 90}", hifi_tenant=f"tenant-{n:05}-{'y' * 200}") for n in range(5_000)
    ]
    found = audited(spark, *records)
    assert len(found) > 1
    assert [each.part for each in found] == list(range(len(found)))
    assert {(each.start, each.end, each.parts) for each in found} == {(0, 5_000, len(found))}
    assert sum(len(each.tallies) for each in found) == 5_000


def test_the_same_range_gives_the_same_record(spark: SparkSession) -> None:
    records = [event(Topic.EVENTS, f"e{n}") for n in range(FEW + 1)] + [receipt("a", "b")]
    for n, record in enumerate(records):
        record.offset = n
    first, second = (frame_rows(spark, records[: FEW + 1], batch_rows) for batch_rows in (7, 1_000))
    assert first == second
    assert [decode_range(value).key for _, key, value in first] == [key for _, key, _ in first]
    assert {topic for topic, _, _ in first} == {"ledger"}


def frame_rows(spark: SparkSession, records: list[Record], batch_rows: int) -> list[tuple[str, bytes, bytes]]:
    batches = rows(frame(spark, records)).toArrow().to_batches(max_chunksize=batch_rows)
    return [tuple(row.values()) for batch in tally(batches) for row in batch.to_pylist()]


@pytest.fixture(scope="module")
def mixed(spark: SparkSession) -> pa.Table:
    """Rows of three partitions with all that a tally tells."""
    found: list[Record] = []
    for n in range(60):
        time = time_text(RECEIVED - n * 11_000)
        found.append(collected(*(f"{n}-{k}" for k in range(n % 5)), time=time, tenant=f"t{n % 3}"))
    for n in range(60):
        found.append(
            receipt(f"{n}", f"{n}x", departed_ms=RECEIVED + 40 * n, result=("delivered", "retry")[n % 2])
        )
    for n in range(60):
        found.append(event(Topic.EVENTS, f"e{n}", hifi_tenant=f"t{n % 2}"))
    for n, record in enumerate(found):
        record.offset = n % 60
    return rows(frame(spark, found)).toArrow()


Merged = dict[tuple[str, ...], tuple[object, ...]]


def merge(ranges: list[Range]) -> Merged:
    """All tallies with the same name as one."""
    grouped: dict[tuple[str, ...], list[Tally]] = {}
    for each in (each for one in ranges for each in one.tallies):
        key = (each.stage, each.tenant, str(each.minute), each.name, each.destination)
        grouped.setdefault(key, []).append(each)
    return {key: _sum(tallies) for key, tallies in grouped.items()}


def _sum(tallies: list[Tally]) -> tuple[object, ...]:
    sketch = Sketch()
    for each in tallies:
        sketch = sketch + each.sketch
    return (
        sum(each.count for each in tallies),
        sum(each.hash_sum for each in tallies) % 2**64,
        sketch.pack(),
        sum(each.late for each in tallies),
        sum(each.good for each in tallies),
        *(merged(getattr(each, name) for each in tallies) for name in ("lag_in", "lag_out", "inside")),
        merged_reasons(tallies),
        min(each.first for each in tallies),
        max(each.last for each in tallies),
    )


def merged_reasons(tallies: list[Tally]) -> dict[str, int]:
    total: dict[str, int] = {}
    for each in tallies:
        for reason, count in each.reasons.items():
            total[reason] = total.get(reason, 0) + count
    return total


@settings(max_examples=60)
@given(st.lists(st.integers(0, 400), max_size=6), st.integers(1, 60))
def test_any_split_into_batches_and_ranges_merges_to_the_same(
    mixed: pa.Table, cuts: list[int], most_rows: int
) -> None:
    whole = list(tallied(mixed.to_batches()))
    bounds = sorted({0, mixed.num_rows, *(min(cut, mixed.num_rows) for cut in cuts)})
    pieces = [
        batch
        for start, end in pairwise(bounds)
        for batch in mixed.slice(start, end - start).combine_chunks().to_batches()
    ]
    split = list(tallied(pieces, most_rows))
    assert merge(split) == merge(whole)
    assert [r.key for r in split] == [r.key for r in tallied(mixed.to_batches(), most_rows)]
    for topic in {each.topic for each in whole}:
        ranges = [each for each in split if each.topic == topic]
        assert [each.start for each in ranges] == [0, *(each.end for each in ranges[:-1])]
        assert ranges[-1].end == 60


def test_tallies_are_what_a_plain_recount_says(mixed: pa.Table) -> None:
    counted: dict[tuple[str, str], list[int]] = {}
    for row in mixed.to_pylist():
        if row["id_hash"] is not None:
            since = lag_since(row["time_ms"], row["received_ms"])
            until = row["departed_ms"] or row["timestamp_ms"]
            counted.setdefault((row["topic"], row["tenant"]), []).append(max(0, until - since))
    told: dict[tuple[str, str], dict[int, int]] = {}
    for each in tallied(mixed.to_batches()):
        for counted_as in each.tallies:
            key = (each.topic.value, counted_as.tenant)
            told[key] = merged([told.get(key, {}), counted_as.lag_out])
    assert told == {key: merged(lag(ms) for ms in lags) for key, lags in counted.items()}


def test_values_stay_below_the_limit(mixed: pa.Table) -> None:
    written = [row["value"] for batch in tally(mixed.to_batches()) for row in batch.to_pylist()]
    assert max(len(value) for value in written) <= VALUE_BYTES


@settings(max_examples=10)
@given(st.lists(st.text(st.characters(codec="utf-8")), max_size=100))
def test_spark_hashes_ids_as_the_contract_does(spark: SparkSession, texts: list[str]) -> None:
    found = (
        spark.createDataFrame([(text,) for text in texts], "id string").select(fn.xxhash64("id")).collect()
    )
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


@settings(max_examples=10)
@given(st.lists(time_texts(), max_size=100))
def test_spark_reads_times_as_collect_does(spark: SparkSession, texts: list[str]) -> None:
    taken = [text for text in [*EDGES, *texts] if parse_time(text) is not None]
    found = spark.createDataFrame([(text,) for text in taken], "time string").select(time_ms(fn.col("time")))
    told = dict(zip(taken, (row[0] for row in found.collect()), strict=True))
    assert told == {text: parse_time(text) for text in taken}
    assert len(taken) >= len(EDGES)
