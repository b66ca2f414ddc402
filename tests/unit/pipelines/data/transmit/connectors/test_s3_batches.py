"""Threads and connections that a batch for S3 uses in a process shared with other destinations."""

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import cast

import aiohttp
import msgspec
import pytest

from pipelines.data.transmit.connectors.aws.s3 import S3
from pipelines.data.transmit.connectors.aws.s3_upload import S3Object, S3Uploader
from pipelines.data.transmit.connectors.base import Answer
from pipelines.data.transmit.connectors.http.client import HttpRequest
from pipelines.data.transmit.events import Event
from shared.connectors.s3 import Options
from shared.contracts.documents import Destination
from tests.unit.pipelines.data.transmit.transmit_events import event

WAIT_SECONDS = 60
OPTIONS = {
    "bucket": "events",
    "region": "eu-west-1",
    "access_key_id": "AKIAEXAMPLE",
    "secret_access_key": "secret://t/aws",
}


class Key:
    """A store with one secret."""

    def get(self, _: str) -> str:
        return "x" * 40


class Store(S3Uploader):
    """Signs each object without sending it, and counts concurrent writes."""

    def __init__(self, threads: ThreadPoolExecutor) -> None:
        super().__init__(cast(aiohttp.ClientSession, None), threads)
        self._signs = threads
        self._now = self.most = 0

    async def write(self, s3_object: S3Object, data: bytes) -> Answer:
        self._now += 1
        self.most = max(self.most, self._now)
        body = data.ljust(1024 * 1024)
        await s3_object.signer.signed(HttpRequest(url=s3_object.url, headers={}, body=body), self._signs)
        self._now -= 1
        return Answer(status=200)


@pytest.fixture
def threads() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(1) as found:
        yield found


async def sent(store: Store, threads: ThreadPoolExecutor, events: list[Event]) -> set[Answer]:
    s3 = S3(store, Key(), threads)
    options = msgspec.convert(OPTIONS, Options)
    destination = Destination(name="d", tenant="t")
    return set(await asyncio.wait_for(s3.send(destination, options, events, 2 * WAIT_SECONDS), WAIT_SECONDS))


def test_compressing_and_hashing_do_not_wait_for_look_ups(threads: ThreadPoolExecutor) -> None:
    """Look-ups run on the default executor, and may occupy all of its threads."""
    resolved = threading.Event()

    async def run() -> set[Answer]:
        loop = asyncio.get_running_loop()
        loop.set_default_executor(ThreadPoolExecutor(1))
        look_up = loop.run_in_executor(None, resolved.wait, 4 * WAIT_SECONDS)
        try:
            return await sent(Store(threads), threads, [event(1, value=b'"%s"' % (b"x" * 100_000))])
        finally:
            resolved.set()
            await look_up

    assert asyncio.run(run()) == {Answer(status=200)}


def test_a_batch_of_many_minutes_takes_a_few_connections(threads: ThreadPoolExecutor) -> None:
    store = Store(threads)
    events = [event(number, minute=29_000_000 + number) for number in range(30)]
    assert asyncio.run(sent(store, threads, events)) == {Answer(status=200)}
    assert store.most == 4
