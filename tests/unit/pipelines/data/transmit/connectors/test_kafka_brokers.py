"""Clusters with many brokers: the client library starts a thread for each."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator

import psutil
import pytest

from pipelines.data.transmit.connectors.base import Answer
from pipelines.data.transmit.connectors.kafka import cluster as clusters
from pipelines.data.transmit.connectors.kafka import connector
from pipelines.data.transmit.connectors.kafka.connector import Kafka
from shared.connectors.kafka import Options
from shared.contracts.documents import Destination
from tests.harness.scripted_kafka import ScriptedKafka
from tests.harness.waiting import eventually
from tests.unit.pipelines.data.transmit.connectors.kafka_context import kafka_context
from tests.unit.pipelines.data.transmit.transmit_events import event

AMPLE = 240.0
MANY = 150
GOOD = Answer(status=200)
REFUSED = Answer(
    error="too_many_brokers: the cluster names 150 brokers; 100 are allowed at most", hopeless=True
)
Send = Callable[[], Awaitable[Answer]]


@pytest.fixture
def cluster() -> Iterator[ScriptedKafka]:
    cluster = ScriptedKafka(MANY)
    yield cluster
    cluster.close()


def sending(cluster: ScriptedKafka, work: Callable[[Send], Awaitable[None]]) -> None:
    """Do work with a connector; its threads end before it is closed."""

    async def run() -> None:
        kafka = Kafka(kafka_context())
        destination = Destination(name="d", tenant="acme", connector="kafka")
        options = Options(bootstrap_servers=[f"127.0.0.1:{cluster.port}"], topic="orders", tls=False)

        async def send() -> Answer:
            return (await kafka.send(destination, options, [event()], AMPLE))[0]

        before = threads()
        await work(send)
        await asyncio.to_thread(eventually, lambda: threads() < before + MANY / 2, AMPLE)
        await kafka.close()

    asyncio.run(run())


def threads() -> int:
    return psutil.Process().num_threads()


def test_a_cluster_that_names_too_many_brokers_is_refused_and_left_alone_for_a_minute(
    cluster: ScriptedKafka,
) -> None:
    async def work(send: Send) -> None:
        assert await send() == REFUSED
        asked = cluster.metadata_asked
        assert await send() == REFUSED
        assert cluster.metadata_asked == asked

    sending(cluster, work)
    assert not cluster.written


def test_the_threads_end_although_the_caller_did_not_wait_for_the_brokers(cluster: ScriptedKafka) -> None:
    async def work(send: Send) -> None:
        call = asyncio.ensure_future(send())
        await asyncio.to_thread(eventually, lambda: cluster.metadata_asked, AMPLE)
        call.cancel()
        await asyncio.to_thread(eventually, lambda: not cluster.connections, AMPLE)

    sending(cluster, work)


def test_a_cluster_that_names_too_many_brokers_later_gets_no_more_events(
    cluster: ScriptedKafka, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster.brokers = 1

    async def work(send: Send) -> None:
        assert await send() == GOOD
        monkeypatch.setattr(clusters, "LOOK_SECONDS", 0.0)
        cluster.brokers = MANY
        answers = [await send()]
        while answers[-1] != REFUSED:
            answers.append(await send())

    sending(cluster, work)


def test_too_many_brokers_are_refused_also_where_the_records_of_a_large_batch_are_sent_alone(
    cluster: ScriptedKafka,
) -> None:
    cluster.brokers, cluster.too_large, cluster.brokers_then = 1, True, MANY

    async def work(send: Send) -> None:
        assert await send() == REFUSED
        assert await send() == REFUSED

    sending(cluster, work)
    assert cluster.named == {1, MANY}


def test_what_sends_records_alone_is_looked_at_again_while_it_has_none(
    cluster: ScriptedKafka, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster.brokers, cluster.too_large = 1, True

    async def work(send: Send) -> None:
        assert await send() == Answer(status=413, detail="MSG_SIZE_TOO_LARGE")
        monkeypatch.setattr(clusters, "LOOK_SECONDS", 0.0)
        cluster.too_large, cluster.brokers_then = False, MANY
        while MANY not in cluster.named:
            assert await send() == GOOD

    sending(cluster, work)


def test_a_producer_that_is_not_used_is_closed_although_nothing_more_is_sent(
    cluster: ScriptedKafka, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster.brokers = 1

    async def work(send: Send) -> None:
        monkeypatch.setattr(connector, "IDLE_SECONDS", 0.1)
        assert await send() == GOOD
        await asyncio.to_thread(eventually, lambda: not cluster.connections, AMPLE)
        assert await send() == GOOD

    sending(cluster, work)
