"""One task of a micro-batch on a loop of the test's own."""

import asyncio
import queue
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import CancelledError
from typing import Any, cast

import pytest

from pipelines.data.transmit.deduplication.dedup_window import DedupWindow
from pipelines.data.transmit.deduplication.delivery_history import DeliveryHistory
from pipelines.data.transmit.delivery.delivery import Delivery
from pipelines.data.transmit.task import Task
from tests.unit.pipelines.data.transmit.transmit_events import flat_batch, row


class Cancelled:
    """A delivery that something else than its task cancels, such as a look-up that several share."""

    async def deliver(self, of: Any, events: Sequence[Any]) -> None:
        raise asyncio.CancelledError


@pytest.fixture
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    yield loop
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()


def test_a_delivery_that_was_cancelled_fails_its_task_instead_of_keeping_it_waiting_for_ever(
    loop: asyncio.AbstractEventLoop,
) -> None:
    task = Task(
        loop=loop,
        delivery=cast(Delivery, Cancelled()),
        answers=queue.SimpleQueue(),
        deliveries=DeliveryHistory(DedupWindow(60_000, 10), lambda: 0),
        clock=lambda: 0,
    )
    assert not list(task.take(flat_batch([row(1)])))
    with pytest.raises(CancelledError):
        while task.waiting:
            list(task.answers(block=True))
