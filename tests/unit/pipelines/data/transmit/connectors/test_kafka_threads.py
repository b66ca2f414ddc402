"""Clusters that hang occupy few threads, and only those of their own tenant."""

import asyncio
import threading
import time

import pytest
from confluent_kafka import KafkaException

from pipelines.data.transmit.connectors.base import Answer
from pipelines.data.transmit.connectors.kafka.client import Client
from pipelines.data.transmit.connectors.kafka.connector import Kafka
from pipelines.data.transmit.connectors.kafka.threads import OF_TENANT, TenantThreads
from shared.connectors.kafka import Options
from shared.contracts.documents import Destination
from tests.harness.scripted_kafka import ScriptedKafka
from tests.harness.waiting import eventually, free_port
from tests.unit.pipelines.data.transmit.connectors.kafka_context import kafka_context
from tests.unit.pipelines.data.transmit.transmit_events import event

AMPLE = 240.0
HOURS = 10_000.0


def test_another_tenants_events_are_written_while_many_clusters_of_one_hang() -> None:
    hanging, good = ScriptedKafka(), ScriptedKafka()
    hanging.hangs = True

    async def send(kafka: Kafka, tenant: str, number: int, cluster: ScriptedKafka) -> Answer:
        destination = Destination(
            name=f"d{number}", tenant=tenant, connector="kafka", timeout_seconds=5 + number / 100
        )
        options = Options(bootstrap_servers=[f"127.0.0.1:{cluster.port}"], topic="orders", tls=False)
        seconds = HOURS if cluster is hanging else AMPLE
        return (await kafka.send(destination, options, [event()], seconds))[0]

    async def run() -> Answer:
        kafka = Kafka(kafka_context())
        waiting = [asyncio.create_task(send(kafka, "evil", each, hanging)) for each in range(40)]
        await asyncio.to_thread(eventually, lambda: hanging.connections >= OF_TENANT, AMPLE)
        for each in waiting:
            each.cancel()
        answer = await send(kafka, "acme", 0, good)
        await kafka.close()
        return answer

    try:
        assert asyncio.run(run()) == Answer(status=200)
    finally:
        hanging.close()
        good.close()


def test_a_tenant_has_some_of_the_threads_until_its_calls_end_although_no_caller_waits() -> None:
    go_on = threading.Event()

    def held(_: threading.Event) -> None:
        go_on.wait()

    def at_once(_: threading.Event) -> None:
        pass

    async def run() -> None:
        threads = TenantThreads(threads=3, of_tenant=2)
        evil = (threads.turns("evil"),)
        for _ in range(2):
            (await threads.start(evil, lambda: held)).cancel()
        third = asyncio.create_task(threads.start(evil, lambda: at_once))
        other = await threads.start((threads.turns("acme"),), lambda: at_once)
        await asyncio.wait_for(other, AMPLE)
        assert not third.done()
        go_on.set()
        await asyncio.wait_for(await third, AMPLE)
        threads.shutdown()

    try:
        asyncio.run(run())
    finally:
        go_on.set()


def test_a_call_that_is_cancelled_before_a_thread_is_free_is_not_made() -> None:
    go_on, made = threading.Event(), list[str]()

    def held(_: threading.Event) -> None:
        go_on.wait()

    def b(_: threading.Event) -> None:
        made.append("b")

    def c(_: threading.Event) -> None:
        made.append("c")

    async def run() -> None:
        threads = TenantThreads(threads=1, of_tenant=2)
        first = await threads.start((threads.turns("a"),), lambda: held)
        (await threads.start((threads.turns("b"),), lambda: b)).cancel()
        last = await threads.start((threads.turns("c"),), lambda: c)
        await asyncio.sleep(0)  # the cancellation reaches the executor
        go_on.set()
        await asyncio.wait_for(asyncio.gather(first, last), AMPLE)
        threads.shutdown()

    try:
        asyncio.run(run())
        assert made == ["c"]
    finally:
        go_on.set()


def test_a_call_that_is_cancelled_is_stopped() -> None:
    async def run() -> None:
        threads, ended = TenantThreads(), threading.Event()

        def until_stopped(stopped: threading.Event) -> None:
            stopped.wait()
            ended.set()

        call = await threads.start((threads.turns("a"),), lambda: until_stopped)
        call.cancel()
        assert await asyncio.to_thread(ended.wait, AMPLE)
        threads.shutdown()

    asyncio.run(run())


def test_a_query_of_a_cluster_that_is_not_reached_ends_soon_after_it_is_stopped() -> None:
    client = Client({"bootstrap.servers": f"127.0.0.1:{free_port()}", "log_level": 0})
    stopped = threading.Event()
    stopped.set()
    began = time.monotonic()
    with pytest.raises(KafkaException):
        client.query("orders", HOURS)(stopped)
    assert time.monotonic() - began < AMPLE
    client.retire()()
