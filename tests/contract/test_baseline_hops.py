"""The baseline's hops on real brokers: records of collect arrive at a destination, with receipts."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import msgspec
from confluent_kafka import Producer

from scripts.experiments.baseline.__main__ import HOPS
from scripts.experiments.baseline.hop import header_list
from scripts.experiments.bench.lags import Point
from scripts.experiments.bench.topic_tail import read_hop_lags
from scripts.experiments.harness.topic_reader import records_since
from scripts.load.fault_injection import Action, FaultInjection, Rule
from scripts.load.receiver import Receiver, running
from scripts.load.verify import visible_ids
from shared.contracts import headers
from shared.contracts.documents import (
    Destination,
    Document,
    Entry,
    Pipe,
    Source,
    encode_entry,
)
from shared.contracts.envelope import CollectedItem, collected_item, delivery_key, encode_items
from shared.contracts.publish_plan import document_key
from shared.contracts.receipts import unpack_keys
from shared.contracts.timestamps import format_time
from shared.contracts.topics import Topic
from shared.kafka.producer import producer_config
from shared.runtime.clock import wall_clock
from tests.harness.waiting import eventually

EVENTS = 100
DATA = '{"exact": 1.10, "n": 12345678901234567890, "n": "\\u00e9"}'


def documents(url: str) -> list[Document]:
    return [
        Source(name="players", tenant="t", write_keys=["12345678"]),
        Destination(name="sink", tenant="t", options={"url": url}, timeout_seconds=10),  # the longest of them
        Pipe(name="all", tenant="t", source="players", destination="sink"),
        Pipe(name="none", tenant="t", source="players", destination="sink", match={"data": {"exact": [2]}}),
    ]


def items() -> list[CollectedItem]:
    attributes = {"source": "/s", "type": "t", "time": format_time(wall_clock())}
    return [collected_item(attributes | {"id": f"e{n}"}, minute=1, data=DATA) for n in range(EVENTS)]


def publish(bootstrap: str, url: str) -> None:
    producer = Producer(producer_config(bootstrap, "test"))
    for document in documents(url):
        entry = Entry(version=1, document=document)
        producer.produce(Topic.CONFIG, encode_entry(entry), document_key(document))
    assert producer.flush(60) == 0


def collect(bootstrap: str) -> None:
    producer = Producer(producer_config(bootstrap, "test"))
    given = {headers.TENANT: "t", headers.SOURCE: "players", headers.RECEIVED: str(wall_clock())}
    producer.produce(Topic.COLLECTED, b"poison", headers=given)  # type: ignore[arg-type]
    producer.produce(Topic.COLLECTED, encode_items(items()), headers=given)  # type: ignore[arg-type]
    assert producer.flush(60) == 0


@contextmanager
def hops(bootstrap: str) -> Iterator[None]:
    environment = {**os.environ, "HIFI_BOOTSTRAP": bootstrap}
    command = [sys.executable, "-m", "scripts.experiments.baseline"]
    processes = [subprocess.Popen([*command, hop], env=environment) for hop in HOPS]
    try:
        yield
    finally:
        for process in processes:
            process.send_signal(signal.SIGTERM)
        codes = [process.wait(60) for process in processes]
    assert codes == [0] * len(HOPS)


def test_every_collected_event_arrives_once_with_its_bytes_and_a_receipt(topics: str) -> None:
    bodies: list[bytes] = []
    start_ms = wall_clock()
    with running(Receiver(on_body=lambda _path, body, _headers: bodies.append(body))) as receiver:
        publish(topics, f"{receiver.url}/sink")
        with hops(topics):
            collect(topics)
            eventually(lambda: receiver.arrivals >= EVENTS, 120)
    received = [
        event for body in bodies for event in msgspec.json.decode(body, type=list[dict[str, msgspec.Raw]])
    ]
    ids = sorted(msgspec.json.decode(event["id"], type=str) for event in received)
    assert ids == sorted(f"e{n}" for n in range(EVENTS))
    assert {bytes(event["data"]) for event in received} == {DATA.encode()}
    assert visible_ids(topics) == set()
    assert_quarantine_keeps_the_poison(topics, start_ms)
    assert_receipts_name_every_delivery(topics, start_ms)
    assert_lags_cover_the_whole_way(topics, start_ms)


def assert_quarantine_keeps_the_poison(bootstrap: str, start_ms: int) -> None:
    assert [m.value() for m in records_since(bootstrap, Topic.QUARANTINE, start_ms, 120)] == [b"poison"]


def assert_receipts_name_every_delivery(bootstrap: str, start_ms: int) -> None:
    found: set[bytes] = set()
    for message in records_since(bootstrap, Topic.RECEIPTS, start_ms, 120):
        found |= set(unpack_keys(dict(header_list(message))[headers.DELIVERED]))
    assert found == {delivery_key("t", "all", "/s", f"e{n}") for n in range(EVENTS)}


def assert_lags_cover_the_whole_way(bootstrap: str, start_ms: int) -> None:
    found = read_hop_lags(bootstrap, start_ms, every=1)
    assert {hop.lag.count for hop in found} == {EVENTS}
    assert (found[-1].start, found[-1].end) == (Point.TIME, Point.DEPARTED)


def test_a_destination_that_refuses_leaves_every_event_in_dead_letter(topics: str) -> None:
    with running(
        Receiver(misbehaviour=FaultInjection((Rule(action=Action.STATUS, percent=100, status=404),)))
    ) as receiver:
        publish(topics, f"{receiver.url}/sink")
        with hops(topics):
            collect(topics)
            eventually(lambda: len(visible_ids(topics)) == EVENTS, 120, every=0.3)
