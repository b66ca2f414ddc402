"""The real query on real brokers, killed, and without its checkpoint, covers each offset once."""

import shutil
import subprocess
import time
from collections import Counter
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient

from pipelines.control.audit.audit_start import covered_offsets
from shared.contracts.event_hash import id_hash
from shared.contracts.ledger import Range, Stage, decode_range, encode_range
from shared.contracts.topics import Topic
from shared.kafka.admin import admin_client
from shared.kafka.consumer_lag import partition_ends
from shared.runtime.settings import SparkSettings
from shared.spark.starting_offsets import ANSWER_SECONDS
from tests.harness.topics import Topics
from tests.harness.waiting import eventually
from tests.spark.audit_records import collected, event
from tests.spark.node_process import kill, start

FEW_RECORDS = "400"
"""Records of a batch: few, so that a kill can hit between several batches."""


def start_audit(bootstrap: str, settings: SparkSettings, checkpoints: Path) -> "subprocess.Popen[bytes]":
    return start(
        "pipelines.control.audit",
        bootstrap,
        settings,
        checkpoints,
        checkpoints.parent / "log",
        audit_trigger="1 second",
        audit_batch_records=FEW_RECORDS,
    )


def feed(side: Topics, first: int, count: int) -> None:
    for n in range(first, first + count):
        for record in (collected(f"e{n}"), event(Topic.EVENTS, f"e{n}")):
            side.put(record.topic, record.value, record.headers, None)
    side.flush()


def ledger(side: Topics) -> dict[bytes, Range]:
    """The ranges by key: repeated ones count once, and a key never has two contents."""
    found: dict[bytes, Range] = {}
    for message in side.all_of(Topic.LEDGER):
        said = decode_range(message.value() or b"")
        assert message.key() == said.key
        assert found.setdefault(said.key, said) == said
    return found


def covered(side: Topics) -> Counter[tuple[str, int, int]]:
    """Number of ranges that contain each offset."""
    ranges = ledger(side).values()
    return Counter(
        (r.topic.value, r.partition, at) for r in ranges if not r.part for at in range(r.start, r.end)
    )


def everything(admin: AdminClient) -> set[tuple[str, int, int]]:
    ends = partition_ends(admin)
    busy = {place: end for place, end in ends.items() if place[0] in (Topic.COLLECTED, Topic.EVENTS)}
    return {(topic, partition, at) for (topic, partition), end in busy.items() for at in range(end)}


def hash_sum(side: Topics, stage: Stage) -> int:
    tallies = (tally for each in ledger(side).values() for tally in each.tallies)
    return sum(tally.hash_sum for tally in tallies if tally.stage is stage) % 2**64


@pytest.mark.proof
@pytest.mark.fault
def test_killed_between_batches_and_without_its_checkpoint_it_counts_each_record_once(
    spark_settings: SparkSettings, topics: str, tmp_path: Path
) -> None:
    side, admin = Topics(topics), admin_client(topics)
    begun = partition_ends(admin)
    checkpoints = tmp_path / "checkpoints"
    checkpoints.mkdir()
    feed(side, 0, 2_000)
    process = start_audit(topics, spark_settings, checkpoints)
    try:
        eventually(lambda: len(covered(side)) > 500, 240)
        kill(process)
        process = start_audit(topics, spark_settings, checkpoints)
        more = len(covered(side)) + 500
        eventually(lambda: len(covered(side)) > more, 240)
        kill(process)
        shutil.rmtree(checkpoints)
        checkpoints.mkdir()
        feed(side, 2_000, 1_000)
        process = start_audit(topics, spark_settings, checkpoints)
        wanted = {place for place in everything(admin) if place[2] >= begun[place[0], place[1]]}
        eventually(lambda: covered(side).keys() >= wanted, 240)
    finally:
        kill(process)
    assert covered(side) == dict.fromkeys(wanted, 1)
    total = sum(id_hash(f"e{n}") for n in range(3_000)) % 2**64
    assert hash_sum(side, Stage.COLLECTED) == hash_sum(side, Stage.EVENTS) == total


@pytest.mark.proof
def test_the_ledger_shows_how_far_each_partition_is_covered(topics: str) -> None:
    side = Topics(topics)
    assert covered_offsets(topics, {("events", "0"): 20}) == {}
    told = [("events", 0, 0, 10), ("events", 1, 0, 7), *(("collected", 0, n, n + 1) for n in range(3_000))]
    for topic, partition, first, end in told:
        found = Range(topic=Topic(topic), partition=partition, start=first, end=end, newest_ms=1, tallies=[])
        side.put(Topic.LEDGER, encode_range(found), [], found.key)
    half = Range(topic=Topic.EVENTS, partition=0, start=10, end=20, newest_ms=1, parts=2, tallies=[])
    side.put(Topic.LEDGER, encode_range(half), [], half.key)
    side.flush()
    expected = {("events", "0"): 10, ("events", "1"): 7, ("collected", "0"): 3_000}
    assert covered_offsets(topics, dict.fromkeys(expected, 5_000)) == expected
    assert covered_offsets(topics, {("collected", "0"): 5_000}) == {("collected", "0"): 3_000}


def test_ranges_from_before_a_topic_was_recreated_do_not_count(topics: str) -> None:
    side, now_ms = Topics(topics), int(time.time() * 1_000)
    side.put(Topic.EVENTS, b"", [], None, at_ms=now_ms)
    side.flush()
    (first,) = side.all_of(Topic.EVENTS)
    partition, end = first.partition() or 0, (first.offset() or 0) + 1
    place = (Topic.EVENTS.value, str(partition))
    for newest_ms, expected in ((now_ms - 1, {}), (now_ms, {place: end})):
        found = Range(
            topic=Topic.EVENTS, partition=partition, start=0, end=end, newest_ms=newest_ms, tallies=[]
        )
        side.put(Topic.LEDGER, encode_range(found), [], found.key)
        side.flush()
        began = time.monotonic()
        assert covered_offsets(topics, {place: end}) == expected
        assert time.monotonic() - began < ANSWER_SECONDS, "it does not wait behind the ledger's end"
