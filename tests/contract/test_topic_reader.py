"""The experiments' reader of the newest records, on real brokers."""

import threading
import time

from confluent_kafka import Producer

from scripts.experiments.harness.topic_reader import records_since
from shared.contracts.topics import Topic
from shared.kafka.producer import producer_config

RECORDS = 500


def test_reading_ends_at_the_topics_end_at_its_start_although_others_keep_writing(topics: str) -> None:
    producer, stopping = Producer(producer_config(topics, "test")), threading.Event()
    for number in range(RECORDS):
        producer.produce(Topic.RECEIPTS, str(number).encode(), partition=number % 2)
    assert producer.flush(60) == 0

    def write_on() -> None:
        while not stopping.wait(0.05):
            producer.produce(Topic.RECEIPTS, b"later", partition=0)
            producer.poll(0)

    writing = threading.Thread(target=write_on)
    writing.start()
    try:
        began = time.monotonic()
        found = {message.value() for message in records_since(topics, Topic.RECEIPTS, 1, 120)}
        assert time.monotonic() - began < 60
    finally:
        stopping.set()
        writing.join()
        producer.flush(60)  # otherwise the last ones would reach the next test's topic
    assert found - {b"later"} == {str(number).encode() for number in range(RECORDS)}


def test_records_older_than_the_given_time_are_left_out(topics: str) -> None:
    producer = Producer(producer_config(topics, "test"))
    producer.produce(Topic.RECEIPTS, b"old", partition=0, timestamp=1_000)
    producer.produce(Topic.RECEIPTS, b"new", partition=0, timestamp=5_000)
    assert producer.flush(60) == 0
    assert [message.value() for message in records_since(topics, Topic.RECEIPTS, 2_000, 60)] == [b"new"]
