"""What a costly request takes from others."""

import asyncio
import json
from typing import Any

import pytest

from shared.contracts.limits import MAX_EVENT_BYTES
from tests.unit.pipelines.data.collect.requests import collect, post

EVENT: dict[str, Any] = {"specversion": "1.0", "source": "/s", "type": "t"}


def events(count: int, data: str) -> bytes:
    return json.dumps([EVENT | {"id": str(n), "data": data} for n in range(count)]).encode()


async def turns_of_others(body: bytes) -> int:
    """How often another task runs while a body is handled."""
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
