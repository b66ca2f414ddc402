"""A costly request lets other requests take turns on the loop, and counts against its source's rate."""

import asyncio
import json
from typing import Any

import pytest

from shared.contracts.limits import MAX_BODY_BYTES, MAX_EVENT_BYTES, MAX_REQUEST_EVENTS
from tests.unit.pipelines.data.collect.requests import collect, post

EVENT: dict[str, Any] = {"specversion": "1.0", "source": "/s", "type": "t"}
TOO_MANY = b"[" + b"{}," * MAX_REQUEST_EVENTS + b"{}]"


def events(count: int, data: str) -> bytes:
    return json.dumps([EVENT | {"id": str(n), "data": data} for n in range(count)]).encode()


async def turns_of_others(body: bytes) -> int:
    """Number of turns of another task while a body is handled."""
    posted = asyncio.create_task(post(collect(), body))
    turns = 0
    while not posted.done():
        await asyncio.sleep(0)
        turns += 1
    assert posted.result().status == 202
    return turns


@pytest.mark.parametrize(("count", "size"), [(15, MAX_EVENT_BYTES - 200), (2_000, 1)])
def test_others_get_turns_between_large_events_and_between_many(count: int, size: int) -> None:
    few = asyncio.run(turns_of_others(events(1, "x")))
    turns = asyncio.run(turns_of_others(events(count, "x" * size)))
    assert turns >= few + min(count - 1, count * (size + 256) // (64 * 1024))


@pytest.mark.parametrize(
    ("body", "status"),
    [(TOO_MANY, 413), (b"[{]", 400), (b"", 400), (b"x" * (MAX_BODY_BYTES + 1), 413)],
    ids=["too many events", "no array", "no event", "too large"],
)
def test_a_request_refused_for_its_body_costs_its_source_an_event(body: bytes, status: int) -> None:
    app = collect(rate_limit=1)
    answers = [asyncio.run(post(app, body)).status for _ in range(4)]
    assert answers == [status, status, status, 429], "two seconds' worth at once, and a debt"


def test_a_request_refused_for_its_head_costs_nothing() -> None:
    app = collect(rate_limit=1)
    assert [asyncio.run(post(app, b"{}", "text/html")).status for _ in range(9)] == [415] * 9
    assert asyncio.run(post(app, events(1, "x"))).status == 202
