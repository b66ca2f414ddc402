"""Of concurrent requests the slowest senders give way."""

import asyncio
from typing import Final

from tests.unit.pipelines.data.collect.requests import Request, collect, post, statuses

AT_ONCE = 5
GOOD = b'[{"specversion":"1.0","id":"e","source":"/s","type":"t"}]'
_EVENT: Final = b'{"specversion":"1.0","id":"%0200d","source":"/s","type":"t"}'
LARGE_ANSWER: Final = b"[" + b",".join(_EVENT % number for number in range(400)) + b"]"
"""Its answer, with the ids, is larger than what the server takes over at once."""


def begun(count: int) -> list[Request]:
    """Requests of which one byte has arrived."""
    found = [Request() for _ in range(count)]
    for each in found:
        each.send(b"[", more=True)
    return found


async def settled() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


def test_slow_requests_that_take_every_place_shut_no_whole_one_out() -> None:
    async def act() -> None:
        app = collect(max_requests=AT_ONCE)
        slow = begun(AT_ONCE)
        tasks = [asyncio.create_task(each.run(app)) for each in slow]
        await settled()
        for _ in range(2):
            assert (await post(app, GOOD)).status == 202
            await settled()
        assert statuses(slow) == [503, None, None, None, None], "the oldest alone: one place was enough"
        assert b"incomplete for longest" in slow[0].body
        slow[1].send(GOOD[1:], more=False)
        await settled()
        assert statuses(slow) == [503, 202, None, None, None], "the others go on"
        for each, task in zip(slow, tasks, strict=True):
            task.cancel()
            each.send(b"", more=False)  # the client's rest is read before its connection is closed
        await asyncio.gather(*tasks, return_exceptions=True)

    asyncio.run(act())


def test_an_answer_that_waits_for_its_client_is_not_dropped_for_a_new_request() -> None:
    """Its events are written: they would be sent again, and without ids be counted twice."""

    async def act() -> None:
        app = collect(max_requests=AT_ONCE)
        taken = asyncio.Event()
        reading = [Request(takes=taken) for _ in range(AT_ONCE)]
        for each in reading:
            each.send(LARGE_ANSWER, more=False)
        tasks = [asyncio.create_task(each.run(app)) for each in reading]
        while None in statuses(reading):
            await settled()
        assert (await post(app, GOOD)).status == 503
        taken.set()
        await asyncio.gather(*tasks)
        assert statuses(reading) == [202] * AT_ONCE
        assert not any(each.dropped for each in reading)
        assert (await post(app, GOOD)).status == 202

    asyncio.run(act())
