"""A call that many wait for is made once, but never before they asked."""

import asyncio
import threading
from collections.abc import Iterator
from typing import Final

import pytest

from pipelines.data.transmit.delivery.shared_call import SharedCall

SECONDS: Final = 60


class Topic:
    """Counts its readings; each ends when the test says so."""

    def __init__(self) -> None:
        self.reads = 0
        self.begun, self.ended = threading.Semaphore(0), threading.Semaphore(0)

    def read(self) -> int:
        self.reads += 1
        found = self.reads
        self.begun.release()
        assert self.ended.acquire(timeout=SECONDS)
        return found


@pytest.fixture
def topic() -> Iterator[Topic]:
    found = Topic()
    yield found
    found.ended.release(100)


async def begun(topic: Topic) -> None:
    assert await asyncio.to_thread(topic.begun.acquire, timeout=SECONDS)


def test_who_asks_during_a_call_gets_the_answer_of_the_next_one(topic: Topic) -> None:
    async def ask() -> list[int]:
        call = SharedCall(topic.read, "read")
        first = [asyncio.create_task(call()) for _ in range(3)]
        await begun(topic)
        second = [asyncio.create_task(call()) for _ in range(3)]
        await asyncio.sleep(0)
        topic.ended.release(2)
        found = await asyncio.gather(*first, *second)
        call.close()
        return found

    assert asyncio.run(ask()) == [1, 1, 1, 2, 2, 2]


def test_a_caller_that_is_cancelled_leaves_the_call_to_the_others(topic: Topic) -> None:
    async def ask() -> int:
        call = SharedCall(topic.read, "read")
        gone, waiting = asyncio.create_task(call()), asyncio.create_task(call())
        await begun(topic)
        gone.cancel()
        topic.ended.release()
        found = await waiting
        assert gone.cancelled()
        call.close()
        return found

    assert asyncio.run(ask()) == 1


def test_what_the_call_raises_is_raised_for_all_and_the_next_one_is_made() -> None:
    answers = iter([OSError("no broker"), None])

    def read() -> str:
        if error := next(answers):
            raise error
        return "read"

    async def ask() -> list[str | BaseException]:
        call = SharedCall(read, "read")
        failed = await asyncio.gather(call(), call(), return_exceptions=True)
        found = await call()
        call.close()
        return [*failed, found]

    first, second, last = asyncio.run(ask())
    assert isinstance(first, OSError)
    assert first is second
    assert last == "read"


def test_the_threads_of_look_ups_may_all_be_taken() -> None:
    async def ask() -> str:
        taken, call = threading.Event(), SharedCall(lambda: "read", "read")
        loop = asyncio.get_running_loop()
        looking_up = [loop.run_in_executor(None, taken.wait, 2 * SECONDS) for _ in range(100)]
        try:
            return await asyncio.wait_for(call(), SECONDS)
        finally:
            taken.set()
            await asyncio.gather(*looking_up)
            call.close()

    assert asyncio.run(ask()) == "read"
