"""Which uses of write keys are reported, and when; reports delay no events."""

import asyncio
import time
from collections.abc import Callable, Iterator
from typing import Any, cast

import pytest
from confluent_kafka import KafkaError, Producer

from pipelines.data.collect.key_usage import KeyUsage, reporting
from shared.contracts.documents import Source, key_digest
from shared.contracts.key_usage import REPORTED_MS, KeyUse, decode
from shared.contracts.topics import Topic
from shared.kafka.producer import AwaitedProducer

BEGAN = 1_000_000_000
SECONDS = 60


def used(usage: KeyUsage, name: str, at_ms: int) -> None:
    digest = key_digest(name)
    usage.note(Source(name=name, tenant="acme", write_keys=[digest]), digest, at_ms)


def reported(usage: KeyUsage, at_ms: int) -> Iterator[KeyUse]:
    return (each for value in usage.report(at_ms) for each in decode(value))


def test_a_key_is_reported_once_a_minute_however_often_it_is_used() -> None:
    usage, times = KeyUsage(), []
    for at_ms in range(BEGAN, BEGAN + 3 * REPORTED_MS, 2_000):
        used(usage, "shop", at_ms)
        times += [each.at_ms for each in reported(usage, at_ms)]
    assert times == [BEGAN, BEGAN + REPORTED_MS, BEGAN + 2 * REPORTED_MS]


def test_keys_of_sources_that_come_and_go_are_forgotten() -> None:
    usage = KeyUsage()
    for minute in range(1_000):
        at_ms = BEGAN + minute * REPORTED_MS
        used(usage, f"run-{minute}", at_ms)
        assert [each.source for each in reported(usage, at_ms)] == [f"run-{minute}"]
    assert len(usage) < 5


class Brokers:
    """A client: each poll acknowledges `collected`, and the partition of `key_usage` accepts nothing."""

    def __init__(self) -> None:
        self.waiting: list[tuple[str, Callable[[KafkaError | None, None], None]]] = []

    def produce(self, topic: str, _value: bytes, *, headers: Any, on_delivery: Any) -> None:
        self.waiting.append((topic, on_delivery))

    def poll(self, _seconds: float) -> None:
        time.sleep(0.001)
        for each in [each for each in self.waiting if each[0] == Topic.COLLECTED]:
            self.waiting.remove(each)
            each[1](None, None)

    def topics(self) -> list[str]:
        return [topic for topic, _ in self.waiting]

    def flush(self, _seconds: float) -> int:
        return len(self.waiting)


def test_reports_that_are_not_acknowledged_refuse_no_events(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipelines.data.collect.key_usage._EVERY_SECONDS", 0.01)
    brokers, usage = Brokers(), KeyUsage()

    async def main() -> None:
        producer = AwaitedProducer({}, 0.1, lambda _: cast(Producer, brokers))
        task = asyncio.create_task(reporting(usage, producer, lambda: BEGAN))
        used(usage, "shop", BEGAN)
        async with asyncio.timeout(SECONDS):
            while Topic.KEY_USAGE not in brokers.topics():  # noqa: ASYNC110  # no event to wait for
                await asyncio.sleep(0.01)
        await asyncio.sleep(0.3)  # three times as long as without an acknowledgement the brokers are away
        assert not producer.stalled
        await producer.send(Topic.COLLECTED, [b"event"], ())
        task.cancel()
        await producer.close()

    asyncio.run(main())
    assert brokers.topics() == [Topic.KEY_USAGE]
