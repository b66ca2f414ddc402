"""Topics of destinations that come and go, on a broker simulated by the client library."""

import asyncio

from confluent_kafka import Producer

from pipelines.data.transmit.connectors.base import Answer
from pipelines.data.transmit.connectors.kafka.connector import MOST_CLUSTERS, Kafka
from shared.connectors.kafka import Options
from shared.contracts.documents import Destination
from tests.unit.pipelines.data.transmit.connectors.kafka_context import kafka_context
from tests.unit.pipelines.data.transmit.transmit_events import event

MOST = 3


def test_topics_that_come_and_go_are_forgotten_and_every_event_is_written() -> None:
    simulated = Producer({"bootstrap.servers": "none:1", "test.mock.num.brokers": 1})
    (broker,) = simulated.list_topics(timeout=60).brokers.values()
    for number in range(10):
        simulated.produce(f"run-{number}", b"makes the topic")
    assert simulated.flush(60) == 0

    async def sent() -> list[Answer]:
        kafka, answers = Kafka(kafka_context(), most_topics=MOST), list[Answer]()
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


def test_a_tenant_with_very_many_clusters_waits_and_others_do_not() -> None:
    simulated = Producer({"bootstrap.servers": "none:1", "test.mock.num.brokers": 1})
    (broker,) = simulated.list_topics(timeout=60).brokers.values()
    simulated.produce("orders", b"makes the topic")
    assert simulated.flush(60) == 0
    options = Options(bootstrap_servers=[f"127.0.0.1:{broker.port}"], topic="orders", tls=False)

    async def sent() -> list[Answer]:
        kafka = Kafka(kafka_context())

        async def send(tenant: str, timeout_seconds: float) -> Answer:
            destination = Destination(
                name="d", tenant=tenant, connector="kafka", timeout_seconds=timeout_seconds
            )
            return (await kafka.send(destination, options, [event()], 60))[0]

        answers = [await send("acme", 60 + number) for number in range(MOST_CLUSTERS + 1)]
        answers += [await send("globex", 60), await send("acme", 60)]
        await kafka.close()
        return answers

    *first, one_more, others, again = asyncio.run(sent())
    assert {answer.status for answer in first} == {200}
    assert (one_more.error.partition(":")[0], one_more.later) == ("too_many_clusters", True)
    assert (others.status, again.status) == (200, 200)
