"""A version reads another version's records, or reports what it refuses."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest
from pyspark.sql import SparkSession

from pipelines.control.readability.answer import BROKERS_SILENT, MODULE, POSITIONS, Reading
from pipelines.control.readability.reading import reading
from pipelines.control.readability.recording import EVENTS, Recorded, Recording, last_records, read, write
from shared.contracts.completeness import COMPLETE_KEY, COMPLETE_VALUE
from shared.contracts.documents import Entry, Pipe, encode_entry
from shared.contracts.topics import Topic
from shared.contracts.topology import INPUTS
from tests.harness.topics import Topics, outbound_headers
from tests.harness.waiting import free_port
from tests.spark.events import event_headers
from tests.spark.test_ingest_and_route_queries import _COLLECTED, _ONE_PARTITION, collected

NOW_MS = 1_800_000_000_000
_Headers = Sequence[tuple[str, str | bytes | None]]


def recorded(topic: str, offset: int, value: bytes | None, headers: _Headers, key: bytes = b"k") -> Recorded:
    found = [(name, text.encode() if isinstance(text, str) else text) for name, text in headers]
    return Recorded(topic, 0, offset, key, value, found)


def pipe(**changes: object) -> bytes:
    document = Pipe(name="all", tenant="acme", source="player", destination="hook", **changes)  # type: ignore[arg-type]
    return encode_entry(Entry(version=1, document=document))


GOOD = [
    recorded(Topic.COLLECTED, 0, collected("e-1"), _COLLECTED),
    recorded(Topic.EVENTS, 0, b"{}", event_headers()),
    recorded(Topic.OUTBOUND, 0, b"{}", outbound_headers("all", 1), b"k" * 16),
    recorded("retry_in.30s", 0, b"{}", outbound_headers("all", 1), b"k" * 16),
    recorded(Topic.CONFIG, 0, pipe(), [], b"acme/pipe/all"),
    recorded(Topic.CONFIG, 1, None, [], b"acme/pipe/gone"),
    recorded(Topic.CONFIG, 4, COMPLETE_VALUE, [], COMPLETE_KEY),
]
BAD = [
    recorded(Topic.COLLECTED, 1, b"no array", _COLLECTED),
    recorded(Topic.EVENTS, 1, b"{}", event_headers(hifi_minute="")[:2]),
    recorded(Topic.OUTBOUND, 1, b"{}", outbound_headers("all", 1, hifi_attempt="second"), b"k" * 16),
    recorded("retry_in.30s", 1, b"{}", [], b"k" * 16),
    recorded(Topic.CONFIG, 2, b"{}", [], b"acme/pipe/strange"),
    recorded(Topic.CONFIG, 3, pipe(match={"data": {"n": [{"near": 1}]}}), [], b"acme/pipe/near"),
]


def test_what_this_version_writes_it_reads_and_counts_what_a_node_would_quarantine(
    spark: SparkSession,
) -> None:
    """Each topic has three good records and one bad: only the bad one may be counted."""
    found = reading(spark, Recording(records=GOOD * 3 + BAD), NOW_MS)
    assert found.refused == {"collected": 1, "events": 1, "outbound": 1, "retry_in.30s": 1, "config": 2}
    assert found.records == {"collected": 4, "events": 4, "outbound": 4, "retry_in.30s": 4, "config": 11}


def test_documents_that_this_version_writes_it_reads(spark: SparkSession) -> None:
    found = reading(spark, Recording(records=[each for each in GOOD if each.topic == Topic.CONFIG]), NOW_MS)
    assert (found.refused, found.records) == ({}, {"config": 3})


def test_a_checkpoint_of_what_no_query_reads_is_named(spark: SparkSession) -> None:
    own = {query: {f"{topic}/0": 7 for topic in topics} for query, topics in INPUTS.items()}
    assert reading(spark, Recording(records=[], queries=own), NOW_MS).checkpoints == []
    strange = own | {"route": {"events/0": 7, "happenings/0": 7}, "enrich": {"events/0": 7}}
    assert reading(spark, Recording(records=[], queries=strange), NOW_MS).checkpoints == [
        "its query route does not read happenings, of which the checkpoint has a position",
        "it has no query enrich, of which the side has a checkpoint",
    ]


@pytest.mark.proof
def test_the_deployer_is_answered_by_a_process_of_the_version(tmp_path: Path) -> None:
    write(Recording(records=GOOD + BAD), tmp_path / "recording")
    found = answer(asked(str(tmp_path / "recording")))
    assert found.refused == {"collected": 1, "events": 1, "outbound": 1, "retry_in.30s": 1, "config": 2}


@pytest.mark.proof
def test_a_header_that_is_there_twice_is_read_as_the_nodes_read_it(tmp_path: Path) -> None:
    """The process has its own session, and the nodes' sessions keep a name's last header."""
    twice = [*outbound_headers("all", 1), *outbound_headers("all", 1)]
    write(Recording(records=[recorded(Topic.OUTBOUND, 0, b"{}", twice, b"k" * 16)]), tmp_path / "recording")
    found = answer(asked(str(tmp_path / "recording")))
    assert (found.refused, found.records) == ({}, {"outbound": 1})


def asked(*arguments: str, **variables: str) -> "subprocess.CompletedProcess[str]":
    """The process of another version, after its answer."""
    command = [sys.executable, "-m", MODULE, *arguments]
    environment = os.environ | variables
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=300)


def answer(done: "subprocess.CompletedProcess[str]") -> Reading:
    assert done.returncode == 0, done.stderr
    return msgspec.json.decode(done.stdout.splitlines()[-1], type=Reading)


@pytest.mark.proof
def test_a_version_in_a_pod_reads_its_sides_brokers_and_positions(topics: str) -> None:
    records = Topics(topics)
    for value in (collected("read"), b"no array"):
        records.put(Topic.COLLECTED, value, _COLLECTED, _ONE_PARTITION)
    records.flush()
    positions = '{"enrich": {"events/0": 7}}'
    found = answer(asked(HIFI_BOOTSTRAP=topics, **{POSITIONS: positions}))
    assert (found.records["collected"], found.refused) == (2, {"collected": 1})
    assert found.checkpoints == ["it has no query enrich, of which the side has a checkpoint"]


@pytest.mark.proof
def test_a_version_whose_brokers_are_silent_says_so_by_its_exit_status() -> None:
    done = asked(HIFI_BOOTSTRAP=f"127.0.0.1:{free_port()}")
    assert done.returncode == BROKERS_SILENT
    assert "the brokers do not answer" in done.stderr.splitlines()[-1]


@pytest.mark.proof
def test_the_last_records_of_a_side_arrive_whole(topics: str, tmp_path: Path) -> None:
    records = Topics(topics)
    records.put(Topic.COLLECTED, collected("recorded"), _COLLECTED, _ONE_PARTITION)
    records.flush()
    found = Recording(records=last_records(topics), queries={"ingest": {"collected/0": 7}})
    write(found, tmp_path / "recording")
    after = read(tmp_path / "recording")
    assert after == found
    (mine,) = [each for each in after.records if each.value == collected("recorded")]
    assert (mine.topic, mine.key) == (Topic.COLLECTED, _ONE_PARTITION)
    assert {name for name, _ in mine.headers} == {name for name, _ in _COLLECTED}


_LARGE = 500_000
"""Bytes; slightly less than collect packs into a record at most."""


@pytest.mark.proof
def test_the_last_large_records_that_fit_are_recorded(topics: str) -> None:
    records = Topics(topics)
    for number in range(EVENTS.records):
        records.put(Topic.COLLECTED, b"%d%s" % (number, b" " * _LARGE), _COLLECTED, _ONE_PARTITION)
        if number % 50 == 0:
            records.flush()
    records.flush()
    found = [each for each in last_records(topics) if each.key == _ONE_PARTITION and each.value]
    large = [each.value for each in found if each.value and len(each.value) > _LARGE]
    assert [int(value) for value in large] == list(range(EVENTS.records - len(large), EVENTS.records))
    assert EVENTS.bytes - 2 * _LARGE < sum(map(len, large)) <= EVENTS.bytes
