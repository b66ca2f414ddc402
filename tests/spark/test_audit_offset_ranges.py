"""The ledger's ranges have the same content however records are batched, and none is too large."""

from dataclasses import replace
from itertools import pairwise

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from pipelines.control.audit.aggregation import VALUE_BYTES, tallied, tally
from pipelines.control.audit.transforms import rows
from shared.contracts.envelope import lag_since
from shared.contracts.iblt import Iblt
from shared.contracts.lag_histogram import merged
from shared.contracts.ledger import FEW, Range, Tally, decode_range
from shared.contracts.topics import Topic
from tests.spark.audit_records import (
    RECEIVED,
    Record,
    collected,
    event,
    frame,
    lag,
    receipt,
    time_text,
)


def much() -> list[Record]:
    """Records of so many tenants that one ledger record cannot hold their tallies."""
    return [
        event(Topic.EVENTS, f"{n}-{'x' * 90}", hifi_tenant=f"tenant-{n:05}-{'y' * 200}") for n in range(5_000)
    ]


def few() -> list[Record]:
    """One record more than a range names individually, then a receipt."""
    return [event(Topic.EVENTS, f"e{n}") for n in range(FEW + 1)] + [receipt("a", "b")]


def mixture() -> list[Record]:
    """60 records of each of three topics, with every field of a tally."""
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
    return [replace(record, offset=n % 60) for n, record in enumerate(found)]


@pytest.fixture(scope="module")
def tables(spark: SparkSession) -> list[pa.Table]:
    """The rows of much, few and mixture, each in a partition of one job."""
    placed = [
        *(replace(record, offset=n) for n, record in enumerate(much())),
        *(replace(record, offset=n, partition=1) for n, record in enumerate(few())),
        *(replace(record, partition=2) for record in mixture()),
    ]
    whole = rows(frame(spark, placed)).toArrow()
    return [whole.filter(pc.equal(whole["partition"], partition)) for partition in range(3)]


@pytest.fixture
def mixed(tables: list[pa.Table]) -> pa.Table:
    return tables[2]


def test_range_with_very_much_to_say_takes_several_records(tables: list[pa.Table]) -> None:
    found = list(tallied(tables[0].to_batches()))
    assert len(found) > 1
    assert [each.part for each in found] == list(range(len(found)))
    assert {(each.start, each.end, each.parts) for each in found} == {(0, 5_000, len(found))}
    assert sum(len(each.tallies) for each in found) == 5_000


def test_the_same_range_gives_the_same_record(tables: list[pa.Table]) -> None:
    first, second = (written(tables[1].slice(0, FEW + 1), batch_rows) for batch_rows in (7, 1_000))
    assert first == second
    assert [decode_range(value).key for _, key, value in first] == [key for _, key, _ in first]
    assert {topic for topic, _, _ in first} == {"ledger"}


def written(table: pa.Table, batch_rows: int) -> list[tuple[str, bytes, bytes]]:
    batches = table.combine_chunks().to_batches(max_chunksize=batch_rows)
    return [tuple(row.values()) for batch in tally(batches) for row in batch.to_pylist()]


Merged = dict[tuple[str, ...], tuple[object, ...]]


def merge(ranges: list[Range]) -> Merged:
    """Tallies with the same name, merged."""
    grouped: dict[tuple[str, ...], list[Tally]] = {}
    for each in (each for one in ranges for each in one.tallies):
        key = (each.stage, each.tenant, str(each.minute), each.name, each.destination)
        grouped.setdefault(key, []).append(each)
    return {key: _sum(tallies) for key, tallies in grouped.items()}


def _sum(tallies: list[Tally]) -> tuple[object, ...]:
    sketch = Iblt()
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


@pytest.mark.parametrize("examples", [8, pytest.param(60, marks=pytest.mark.proof)])
def test_any_split_into_batches_and_ranges_merges_to_the_same(mixed: pa.Table, examples: int) -> None:
    whole = list(tallied(mixed.to_batches()))

    @settings(max_examples=examples)
    @given(st.lists(st.integers(0, 400), max_size=6), st.integers(1, 60))
    def any_split(cuts: list[int], most_rows: int) -> None:
        assert_same_ranges(mixed, cuts, most_rows, whole)

    any_split()


def assert_same_ranges(mixed: pa.Table, cuts: list[int], most_rows: int, whole: list[Range]) -> None:
    """Check that ranges and their sum are the same for all batches."""
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


def test_tallies_equal_a_plain_recount(mixed: pa.Table) -> None:
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
    values = [row["value"] for batch in tally(mixed.to_batches()) for row in batch.to_pylist()]
    assert max(len(value) for value in values) <= VALUE_BYTES
