"""The real query, between real brokers and a real destination."""

import json
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Iterator
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import msgspec
import pytest
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from pipelines.data.transmit import job
from pipelines.data.transmit.job import build
from pipelines.data.transmit.settings import TransmitSettings
from shared.contracts import headers as h
from shared.contracts.topics import Topic
from shared.runtime.settings import SparkSettings
from shared.spark.planned_stop import stop_with_progress
from shared.spark.session import microbatch_writer
from tests.conftest import delete_records
from tests.harness.topics import Topics, outbound_headers, pipe_to
from tests.harness.waiting import eventually
from tests.spark.node_process import kill, start


class Sink:
    """An HTTP destination; the first part of a path is its status."""

    def __init__(self) -> None:
        self.ids: Counter[str] = Counter()
        self.bodies: list[bytes] = []
        self.pause = 0.0
        sink = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                sink.bodies.append(body)
                sink.ids.update(f"{self.path}:{event['id']}" for event in json.loads(body))
                time.sleep(sink.pause)
                self.send_response(int(self.path.split("/")[1]))
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self._server.server_port}{path}"

    def forget(self) -> None:
        self.ids.clear()
        self.bodies.clear()
        self.pause = 0.0

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@pytest.fixture(scope="module")
def shared_sink() -> Iterator[Sink]:
    """A sink with one address for all tests: a worker that Spark keeps may not know a new one yet."""
    found = Sink()
    yield found
    found.close()


@pytest.fixture
def sink(shared_sink: Sink) -> Sink:
    """The sink, without what arrived before the test."""
    shared_sink.forget()
    return shared_sink


def own_settings(shared: SparkSettings, bootstrap: str, checkpoints: Path) -> TransmitSettings:
    """Settings with patience for a sink on two busy cores: other tests cover the lanes."""
    place = {"bootstrap": bootstrap, "checkpoints": str(checkpoints)}
    patience = {"patience_seconds": 30, "turn_seconds": 60, "deadline_seconds": 60}
    return TransmitSettings(**{**shared.model_dump(), **place, **patience})


def results(topics: Topics) -> Counter[tuple[str, str]]:
    return Counter((receipt.pipe, receipt.result) for receipt in topics.receipts() for _ in receipt.ids)


@pytest.mark.parametrize(
    ("trigger", "count"), [("1 second", 15), pytest.param("2 seconds", 30, marks=pytest.mark.proof)]
)
def test_micro_batches_are_as_far_apart_as_the_setting_says(
    spark: SparkSession,
    spark_settings: SparkSettings,
    topics: str,
    sink: Sink,
    tmp_path: Path,
    *,
    trigger: str,
    count: int,
) -> None:
    side, first = Topics(topics), 1_000 * count  # a separate pipe: workers remember their deliveries
    side.publish(*pipe_to("good", sink.url("/200")))
    own = own_settings(spark_settings, topics, tmp_path).model_copy(update={"fast_trigger": trigger})
    query = build(spark, own)
    try:
        side.event("good", first)
        side.flush()
        eventually(lambda: query.recentProgress and sink.ids[f"/200:e{first}"], 240, every=0.3)
        before = max(each["batchId"] for each in query.recentProgress)
        for n in range(count):
            side.event("good", first + 1 + n)
            side.flush()
            time.sleep(0.2)
        eventually(lambda: sum(sink.ids.values()) == count + 1, 60, every=0.3)
        batches = [each for each in query.recentProgress if each["batchId"] > before and each["numInputRows"]]
        assert 0 < len(batches) <= 5, "in the time of three"
    finally:
        query.stop()


def test_every_record_comes_to_its_end(
    spark: SparkSession, spark_settings: SparkSettings, topics: str, sink: Sink, tmp_path: Path
) -> None:
    side = Topics(topics)
    for name, status in (("good", 200), ("bad", 404), ("ill", 500)):
        destination, pipe = pipe_to(name, sink.url(f"/{status}"))
        side.publish(msgspec.structs.replace(destination, timeout_seconds=10.0), pipe)  # the longest of them
    for n in range(50):
        side.event("good", n)
        side.event("good", n)  # like ingest or route after a crash
        side.event("bad", n)
        side.event("ill", n)
        side.event("gone", n)
    poison = [
        (None, b"x", []),
        (bytes(16), None, outbound_headers("good", 1, hifi_attempt="one")),
        (bytes(16), b"{", outbound_headers("good", 2)),
    ]
    for key, value, headers in poison:
        side.put(Topic.OUTBOUND, value, headers, key)
    side.put(Topic.RETRY_OUT, b"{}", outbound_headers("good", 99, hifi_attempt="2"), b"r" * 16)
    side.flush()
    query = build(spark, own_settings(spark_settings, topics, tmp_path))
    try:
        expected = Counter(
            {
                ("good", "delivered"): 51,
                ("good", "duplicate"): 50,
                ("bad", "dead"): 50,
                ("ill", "retry"): 50,
                ("gone", "dead"): 50,
            }
        )
        written = {Topic.DEAD_LETTER: 100, Topic.RETRY_IN_30S: 50, Topic.QUARANTINE: len(poison)}

        def ended() -> bool:
            whole = sum(results(side).values()) >= expected.total()
            return whole and all(len(side.all_of(topic)) >= count for topic, count in written.items())

        eventually(lambda: ended() or not query.isActive, 240, every=0.3)
        assert results(side) == expected
        assert query.exception() is None
    finally:
        query.stop()
    assert {i: n for i, n in sink.ids.items() if i.startswith("/200")} == {
        f"/200:e{n}": 1 for n in [*range(50), 99]
    }
    dead = side.all_of(Topic.DEAD_LETTER)
    assert Counter(dict(m.headers() or [])[h.PIPE] for m in dead) == {b"bad": 50, b"gone": 50}
    later = side.all_of(Topic.RETRY_IN_30S)
    assert sorted(m.value() or b"" for m in later) == sorted(b'{"n":%d}' % n for n in range(50))
    quarantined = side.all_of(Topic.QUARANTINE)
    assert {(m.key(), m.value()) for m in quarantined} == {(key, value) for key, value, _ in poison}
    assert len(quarantined) == 3
    assert all({h.REASON, h.ORIGIN} <= dict(m.headers() or []).keys() for m in quarantined)


def test_records_that_expired_while_it_stood_still_do_not_keep_it_from_the_later_ones(
    spark: SparkSession, spark_settings: SparkSettings, topics: str, sink: Sink, tmp_path: Path
) -> None:
    side, settings = Topics(topics), own_settings(spark_settings, topics, tmp_path)
    side.publish(*pipe_to("good", sink.url("/200")))
    send_event(side, 201)  # a separate pipe: workers of the test before remember their deliveries
    query = build(spark, settings)
    eventually(lambda: "/200:e201" in sink.ids, 240)
    query.stop()
    send_event(side, 202)
    delete_records(topics)
    send_event(side, 203)
    query = build(spark, settings)
    try:
        eventually(lambda: "/200:e203" in sink.ids or not query.isActive, 240)
        assert query.exception() is None
    finally:
        query.stop()
    assert set(sink.ids) == {"/200:e201", "/200:e203"}


def test_a_query_that_was_stopped_between_batches_repeats_none_of_them(
    spark: SparkSession, spark_settings: SparkSettings, topics: str, sink: Sink, tmp_path: Path
) -> None:
    side, settings = Topics(topics), own_settings(spark_settings, topics, tmp_path)
    side.publish(*pipe_to("refused", sink.url("/404")))
    with pytest.MonkeyPatch.context() as patch:  # in normal work it writes the first batch's progress only
        patch.setattr(job, "microbatch_writer", partial(microbatch_writer, progress_ms=3_600_000))
        query = build(spark, settings)
    try:
        for number in (301, 302, 303):
            refuse(side, query, number)
        assert len(list((tmp_path / "transmit" / "offsets").glob("[0-9]*"))) == 1
    finally:
        stop_with_progress(query)
    query = build(spark, settings)
    try:
        refuse(side, query, 304)
        assert query.exception() is None
    finally:
        query.stop()
    assert dead(side) == {b"e%d" % number: 1 for number in range(301, 305)}


def refuse(side: Topics, query: StreamingQuery, number: int) -> None:
    """Send an event that its destination refuses, and wait until its micro-batch has ended."""
    side.event("refused", number)
    side.flush()
    eventually(lambda: b"e%d" % number in dead(side) or not query.isActive, 240)
    query.processAllAvailable()


def dead(side: Topics) -> Counter[object]:
    """Number of dead letters by event id."""
    return Counter(dict(message.headers() or [])[h.CE_ID] for message in side.all_of(Topic.DEAD_LETTER))


def send_event(side: Topics, number: int) -> None:
    side.event("good", number)
    side.flush()


def start_transmit(bootstrap: str, settings: SparkSettings, folder: Path) -> "subprocess.Popen[bytes]":
    return start(
        "pipelines.data.transmit", bootstrap, settings, folder, folder / "log", allow_loopback="true"
    )


@pytest.mark.proof
@pytest.mark.fault
def test_killed_query_loses_nothing_and_doubles_only_what_was_in_flight(
    spark_settings: SparkSettings, topics: str, sink: Sink, tmp_path: Path
) -> None:
    side = Topics(topics)
    side.publish(*pipe_to("good", sink.url("/200")))
    sink.pause = 0.02
    stopping, sent = threading.Event(), 0

    def feed() -> None:
        nonlocal sent
        while not stopping.wait(0.005):
            side.event("good", sent)
            sent += 1
        side.flush()

    feeder = threading.Thread(target=feed)
    process = start_transmit(topics, spark_settings, tmp_path)
    try:
        feeder.start()
        eventually(lambda: len(sink.ids) > 300, 240)
        kill(process)
        recorded = {i for receipt in side.receipts() for i in receipt.ids}
        process = start_transmit(topics, spark_settings, tmp_path)
        before = len(sink.ids)
        eventually(lambda: len(sink.ids) > before + 100, 240)
        stopping.set()
        feeder.join()
        eventually(lambda: len(sink.ids) >= sent, 240)
    finally:
        stopping.set()
        kill(process)
    doubled = {i.partition(":")[2] for i, n in sink.ids.items() if n > 1}
    assert {i.partition(":")[2] for i in sink.ids} == {f"e{n}" for n in range(sent)}
    assert max(sink.ids.values()) <= 2
    assert not doubled & recorded  # only delivered events without a receipt
