"""Events that a transform enlarges take bounded memory, and end like any others."""

import asyncio
import json
import tracemalloc
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Final

import pytest

from pipelines.data.transmit.connectors.base import Answer, ConnectorContext, ConnectorType
from pipelines.data.transmit.connectors.registry import CONNECTORS
from pipelines.data.transmit.events import Event
from shared.contracts import headers as h
from shared.contracts.documents import Destination
from shared.contracts.topics import Topic
from tests.contract.transmit_rig import AMPLE, Rig, header, receipts, records
from tests.unit.pipelines.data.transmit.transmit_events import flat_batch, row

MOST_BYTES: Final = 16 * 1024 * 1024
"""Bytes by which `growing` lets events grow."""

SMALL = b"[%b]" % b",".join([b"1"] * 19)
"""Data that `GROWS` makes a thousand times larger."""

GROWS = f"map(&`{json.dumps('x' * 8_100)}`, data)"

Send = Callable[[Destination, Sequence[Event]], Awaitable[None]]


class Taking:
    """A connector to destinations that accept everything and keep nothing."""

    def __init__(self, until_accepted: Send) -> None:
        self._until_accepted = until_accepted

    async def send(
        self, destination: Destination, options: object, events: Sequence[Event], seconds: float
    ) -> Sequence[Answer]:
        await self._until_accepted(destination, events)
        return [Answer(status=200)] * len(events)

    async def close(self) -> None:
        pass


@pytest.fixture
def growing() -> Iterator[Rig]:
    """A worker that lets events grow by MOST_BYTES."""
    fresh = Rig(most_bytes=MOST_BYTES)
    yield fresh
    fresh.close()


def take(rig: Rig, until_accepted: Send) -> None:
    """Let every destination accept its events after this."""

    async def opened(_: ConnectorContext) -> Taking:
        return Taking(until_accepted)

    rig.use({"webhook": ConnectorType(spec=CONNECTORS["webhook"].spec, open=opened)})


def test_events_that_a_transform_makes_large_take_bounded_memory_and_all_are_delivered(growing: Rig) -> None:
    async def accept_slowly(_: Destination, events: Sequence[Event]) -> None:
        assert all(len(event.value or b"") > 150_000 for event in events)
        await asyncio.sleep(0.01)

    take(growing, accept_slowly)
    pipes = [f"p{n}" for n in range(4)]
    for name in pipes:
        growing.pipe(name, "/", transform=GROWS)
    small = flat_batch([row(n, pipe=pipes[n % 4], value=SMALL) for n in range(2_000)])
    tracemalloc.start()
    try:
        rows = growing.deliver(small)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert sum(len(r.ids) for r in receipts(rows) if r.result == "delivered") == 2_000
    assert peak < MOST_BYTES + 8 * 1024 * 1024, "results of 300 MB, beside the events as they were read"


def test_large_events_that_wait_for_their_destinations_leave_memory_to_another_tenants(growing: Rig) -> None:
    others = 100
    accepted = asyncio.Event()

    async def accept(destination: Destination, events: Sequence[Event]) -> None:
        nonlocal others
        if destination.tenant == "waits":
            await accepted.wait()
            return
        others -= len(events)
        if not others:
            accepted.set()

    take(growing, accept)
    hanging = [f"p{n}" for n in range(8)]
    for name in hanging:
        growing.pipe(name, "/", tenant="waits", transform=GROWS)
    growing.pipe("p1", "/", transform=GROWS)
    rows = growing.deliver(
        flat_batch([row(n, pipe=hanging[n % 8], tenant="waits", value=SMALL) for n in range(400)]),
        flat_batch([row(n, value=SMALL) for n in range(1_000, 1_100)]),
    )
    assert {r.result for r in receipts(rows)} == {"delivered"}
    assert sum(len(r.ids) for r in receipts(rows)) == 500


def test_events_that_grow_are_sent_in_their_order(growing: Rig) -> None:
    sent: list[str] = []

    async def note(_: Destination, events: Sequence[Event]) -> None:
        sent.extend(event.id for event in events)

    take(growing, note)
    growing.pipe("p1", "/", transform=GROWS)
    growing.deliver(flat_batch([row(n, value=SMALL) for n in range(100)]))
    assert sent == [f"e{n}" for n in range(100)]


def test_at_the_deadline_events_without_memory_are_retried_as_they_were_and_that_is_no_attempt(
    growing: Rig,
) -> None:
    async def hang(_: bytes, writer: asyncio.StreamWriter) -> None:
        growing.let_pass(AMPLE)

    growing.server.manners["/"] = hang
    growing.pipe("p1", "/", transform=GROWS)
    moved = records(growing.deliver(flat_batch([row(n, value=SMALL) for n in range(100)])))
    assert {(record.topic, record.value) for record in moved} == {(Topic.RETRY_IN_30S, SMALL)}
    late = [
        each
        for each in moved
        if header(each.headers, h.REASON).startswith("deadline: no time for the pipe's masks")
    ]
    assert len(moved) == 100
    assert len(late) > 50
    assert {header(each.headers, h.ATTEMPT) for each in late} == {"0"}
