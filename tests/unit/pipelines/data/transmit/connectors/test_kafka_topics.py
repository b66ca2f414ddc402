"""Topics of destinations that come and go, against the broker that the client library simulates."""

import asyncio
from concurrent.futures import Executor
from typing import cast

import aiohttp
from confluent_kafka import Producer

from pipelines.data.transmit.connectors.base import Answer, ConnectorContext
from pipelines.data.transmit.connectors.kafka.connector import Kafka
from shared.connectors.kafka import Options
from shared.contracts.documents import Destination
from shared.contracts.egress_policy import EgressPolicy
from shared.contracts.secrets import Secrets
from tests.unit.pipelines.data.transmit.transmit_events import event

MOST = 3


def test_topics_that_come_and_go_are_forgotten_and_every_event_is_written() -> None:
    simulated = Producer({"bootstrap.servers": "none:1", "test.mock.num.brokers": 1})
    (broker,) = simulated.list_topics(timeout=60).brokers.values()
    for number in range(10):
        simulated.produce(f"run-{number}", b"makes the topic")
    assert simulated.flush(60) == 0

    async def sent() -> list[Answer]:
        kafka, answers = Kafka(context(), most_topics=MOST), list[Answer]()
        for number in range(10):
            options = Options(
                bootstrap_servers=[f"127.0.0.1:{broker.port}"], topic=f"run-{number}", tls=False
            )
            destination = Destination(name=f"run-{number}", tenant="acme", connector="kafka")
            answers += await kafka.send(destination, options, [event()], 60)
            assert kafka.topics <= MOST
        await kafka.close()
        return answers

    assert asyncio.run(sent()) == [Answer(status=200)] * 10


def context() -> ConnectorContext:
    return ConnectorContext(
        session=cast(aiohttp.ClientSession, None),
        secrets=cast(Secrets, None),
        egress=EgressPolicy(loopback=True),
        resolver=aiohttp.ThreadedResolver(),
        threads=cast(Executor, None),
        clock=lambda: 0,
    )
