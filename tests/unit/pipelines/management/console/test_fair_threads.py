"""One person's long work leaves the event loop and a thread to the others."""

import asyncio
import threading

import pytest

from pipelines.management.console.fair_threads import FairThreads

SECONDS = 120


def test_the_event_loop_goes_on_during_the_work() -> None:
    went_on = threading.Event()

    async def scene() -> bool:
        work = asyncio.create_task(FairThreads().run("ann", lambda: went_on.wait(SECONDS)))
        await asyncio.sleep(0.01)
        went_on.set()
        return await work

    assert asyncio.run(scene())


def test_much_work_of_one_person_leaves_a_thread_to_another() -> None:
    over = threading.Event()

    async def scene() -> str:
        threads = FairThreads()
        busy = [asyncio.create_task(threads.run("ann", lambda: over.wait(SECONDS))) for _ in range(8)]
        await asyncio.sleep(0.01)
        try:
            return await asyncio.wait_for(threads.run("bob", lambda: "done"), SECONDS / 2)
        finally:
            over.set()
            assert all(await asyncio.gather(*busy))

    assert asyncio.run(scene()) == "done"


def test_an_error_of_the_work_is_the_callers() -> None:
    with pytest.raises(ValueError, match="no number"):
        asyncio.run(FairThreads().run("ann", _fail))


def _fail() -> None:
    raise ValueError("no number")
