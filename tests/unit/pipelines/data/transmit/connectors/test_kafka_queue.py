"""The queue for a customer's cluster that hangs: expired records leave it, and later ones are sent."""

import asyncio
import os
import time
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

import pytest

from pipelines.data.transmit.connectors.kafka.access import Access, producer_config
from pipelines.data.transmit.connectors.kafka.client import Client, Outcomes, Record
from tests.harness.scripted_kafka import ScriptedKafka
from tests.harness.waiting import eventually

AMPLE = 240.0
ONE = [Record(b"k", os.urandom(1_000_000), [])]
TOO_MANY = ONE * 40
"""More than the queue of a cluster holds."""


class Limits(NamedTuple):
    """Time limits of the client."""

    seconds: float
    """Timeout of the destination."""

    silent: Mapping[str, int]
    """Milliseconds until a connection without an answer is closed, unless those of `producer_config`."""


SILENT_MS: Final = 1_000
"""A tenth of what `producer_config` gives."""

QUICK: Final = Limits(0.5, {"socket.timeout.ms": SILENT_MS, "api.version.request.timeout.ms": SILENT_MS})
SHIPPED: Final = Limits(2.0, {})

pytestmark = pytest.mark.parametrize(
    "limits",
    [pytest.param(QUICK, id="quick"), pytest.param(SHIPPED, id="shipped", marks=pytest.mark.proof)],
)


@pytest.fixture
def cluster() -> Iterator[ScriptedKafka]:
    cluster = ScriptedKafka()
    yield cluster
    cluster.close()


async def full(cluster: ScriptedKafka, limits: Limits) -> Client:
    """A client with a full queue; its caller has given up."""
    access = Access(
        tenant="acme",
        servers=(("127.0.0.1", cluster.port),),
        timeout_seconds=limits.seconds,
        tls=False,
        ca=None,
        mechanism=None,
        username=None,
        password=None,
    )
    client = Client({**producer_config(access, lambda _: None), **limits.silent})
    write = asyncio.create_task(client.write("orders", TOO_MANY, asyncio.get_running_loop().time() + AMPLE))
    await asyncio.sleep(0)  # its records are queued before it waits
    assert client.waiting > 30
    write.cancel()
    return client


def test_records_that_are_dead_leave_a_full_queue_before_the_next_one_is_refused(
    cluster: ScriptedKafka, limits: Limits
) -> None:
    async def run() -> None:
        cluster.hangs = True
        client, loop = await full(cluster, limits), asyncio.get_running_loop()
        until = loop.time() + AMPLE
        while loop.time() < until:
            time.sleep(0.2)  # noqa: ASYNC251  # nothing on the loop may poll meanwhile
            outcomes = await client.write("orders", ONE, loop.time() + limits.seconds)
            if not isinstance(outcomes.get(0), BufferError):
                break
        else:
            pytest.fail("the queue stays full")
        client.retire()()

    asyncio.run(run())


def test_a_cluster_that_hung_is_written_to_again(cluster: ScriptedKafka, limits: Limits) -> None:
    async def run() -> None:
        cluster.hangs = True
        client, loop = await full(cluster, limits), asyncio.get_running_loop()
        await asyncio.sleep(limits.seconds)
        cluster.hangs = False
        until, outcomes = loop.time() + AMPLE, Outcomes()
        while outcomes.get(0, TimeoutError()) is not None and loop.time() < until:
            outcomes = await client.write("orders", ONE, until)
        assert outcomes == {0: None}
        client.retire()()

    asyncio.run(run())


def test_records_that_are_dead_leave_the_queue_of_a_cluster_that_gets_no_more(
    cluster: ScriptedKafka, limits: Limits
) -> None:
    async def run() -> None:
        cluster.hangs = True
        client = await full(cluster, limits)
        await asyncio.to_thread(eventually, lambda: not client.waiting, AMPLE)
        client.retire()()

    asyncio.run(run())
