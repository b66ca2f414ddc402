"""One task of a micro-batch on the test's own loop."""

import asyncio
import queue
import threading
from collections.abc import Callable, Coroutine, Iterator, Sequence
from concurrent.futures import CancelledError, Future
from typing import Any, cast

import msgspec
import pytest

from pipelines.data.transmit.deduplication.dedup_window import DedupWindow
from pipelines.data.transmit.deduplication.delivery_history import DeliveryHistory, MicroBatch
from pipelines.data.transmit.delivery.decide import Delivered
from pipelines.data.transmit.delivery.delivery import Delivery
from pipelines.data.transmit.delivery.kafka_rows import SettledEvents
from pipelines.data.transmit.delivery.request_batch import Group
from pipelines.data.transmit.events import Event
from pipelines.data.transmit.task import Task
from shared.contracts.documents import TenantName
from shared.contracts.receipts import Receipt
from tests.unit.pipelines.data.transmit.transmit_events import flat_batch, row


class Cancelled:
    """A delivery that another task cancels, such as a shared look-up."""

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


def task_of(delivery: Any, loop: asyncio.AbstractEventLoop) -> Task:
    """A task without earlier deliveries that gets no answers but its deliveries' exceptions."""
    return Task(
        loop=loop,
        delivery=cast(Delivery, delivery),
        answers=queue.SimpleQueue(),
        deliveries=DeliveryHistory(DedupWindow(60_000, 10), lambda: 0),
        clock=lambda: 0,
    )


@pytest.mark.parametrize("block", [False, pytest.param(True, marks=pytest.mark.proof)])
def test_a_delivery_that_was_cancelled_fails_its_task_instead_of_keeping_it_waiting_for_ever(
    loop: asyncio.AbstractEventLoop, block: bool
) -> None:
    task = task_of(Cancelled(), loop)
    assert not list(task.take(flat_batch([row(1)])))
    with pytest.raises(CancelledError):
        while task.waiting:
            list(task.answers(block=block))


class EndsAfterALook(Future[None]):
    """The future of a delivery that is cancelled as soon as it was seen running."""

    def done(self) -> bool:
        was_done = super().done()
        self.cancel()
        return was_done


def test_a_delivery_that_ends_while_its_task_looks_at_it_fails_it_at_the_next_look(
    loop: asyncio.AbstractEventLoop, monkeypatch: pytest.MonkeyPatch
) -> None:
    def started(work: Coroutine[Any, Any, None], loop: asyncio.AbstractEventLoop) -> Future[None]:
        work.close()
        return EndsAfterALook()

    monkeypatch.setattr(asyncio, "run_coroutine_threadsafe", started)
    task = task_of(Cancelled(), loop)
    assert not list(task.take(flat_batch([row(1)])))
    assert not list(task.answers(block=False))
    with pytest.raises(CancelledError):
        list(task.answers(block=False))


class Accepting:
    """A delivery to destinations that accept everything; records the ids of sent events."""

    def __init__(self, settle: Callable[[SettledEvents], None]) -> None:
        self._settle, self.sent, self.pipes = settle, list[str](), self

    def destination_name(self, pipe: TenantName) -> str:
        return pipe[1]

    async def deliver(self, of: Group, events: Sequence[Event]) -> None:
        self.sent += [event.id for event in events]
        self._settle(
            SettledEvents(
                events=events,
                outcome=Delivered(),
                tenant=of.tenant,
                destination=of.pipe,
                pipe=of.pipe,
                attempt=of.attempt,
                started_ms=0,
                departed_ms=0,
            )
        )


class Deliveries:
    """The tasks of one process that reads no receipts."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._history = DeliveryHistory(DedupWindow(60_000, 10), lambda: 0)
        self.sent: list[str] = []

    def results(self, run: str, batch: int) -> list[str]:
        """The results in the receipts of a micro-batch's task, always with the same event."""
        self._history.begin(MicroBatch(run, str(batch)))
        answers: queue.SimpleQueue[SettledEvents] = queue.SimpleQueue()
        delivery = Accepting(answers.put)
        task = Task(
            loop=self._loop,
            delivery=cast(Delivery, delivery),
            answers=answers,
            deliveries=self._history,
            clock=lambda: 0,
        )
        found = list(task.take(flat_batch([row(1)])))
        while task.waiting:
            found += task.answers(block=True)
        task.close()
        self.sent += delivery.sent
        return [msgspec.json.decode(each.value or b"", type=Receipt).result for each in found]


def test_an_event_that_comes_again_before_its_receipt_was_read_is_a_duplicate(
    loop: asyncio.AbstractEventLoop,
) -> None:
    process = Deliveries(loop)
    assert process.results("run", 7) == ["delivered"]
    assert process.results("run", 8) == ["duplicate"]
    assert process.results("run", 9) == ["duplicate"]
    assert process.sent == ["e1"]


def test_a_micro_batch_that_is_tried_again_writes_the_receipts_that_it_may_have_not_written(
    loop: asyncio.AbstractEventLoop,
) -> None:
    process = Deliveries(loop)
    assert process.results("run", 7) == ["delivered"]
    assert process.results("run", 7) == ["delivered"]
    assert process.sent == ["e1"]


def test_another_run_of_the_query_writes_an_events_receipt_again_in_any_micro_batch(
    loop: asyncio.AbstractEventLoop,
) -> None:
    process = Deliveries(loop)
    assert process.results("run", 7) == ["delivered"]
    assert process.results("other run", 7) == ["delivered"]
    assert process.results("other run", 8) == ["delivered"]
    assert process.sent == ["e1"]
