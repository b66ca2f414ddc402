"""One task of a micro-batch: rows in, rows out, on the Spark worker's own thread."""

import asyncio
import queue
from collections.abc import Iterable, Iterator
from concurrent.futures import Future
from typing import Final

import pyarrow as pa
from msgspec import structs

from pipelines.data.transmit.deduplication.delivery_history import DeliveryHistory
from pipelines.data.transmit.delivery.decide import Delivered, Duplicate, End
from pipelines.data.transmit.delivery.delivery import Delivery
from pipelines.data.transmit.delivery.kafka_rows import Row, SettledEvents, quarantined, rows
from pipelines.data.transmit.delivery.record_parser import read
from pipelines.data.transmit.delivery.request_batch import grouped
from pipelines.data.transmit.events import Event
from shared.runtime.clock import Clock

_WAIT_SECONDS: Final = 1.0


class Task:
    """Passes events to the loop and returns their outcomes as rows. `close` cancels the rest."""

    def __init__(
        self,
        *,
        loop: asyncio.AbstractEventLoop,
        delivery: Delivery,
        answers: "queue.SimpleQueue[SettledEvents]",
        deliveries: DeliveryHistory,
        clock: Clock,
    ) -> None:
        self._loop = loop
        self._delivery = delivery
        self._answers = answers
        self._deliveries = deliveries
        self._clock = clock
        self._copies: dict[bytes, list[Event]] = {}
        self._arrived: set[bytes] = set()
        self._waiting = 0
        self._unsettled_bytes = 0
        self._running: list[Future[None]] = []

    @property
    def unsettled_bytes(self) -> int:
        """Approximate bytes of the unsettled events, as they were read."""
        return self._unsettled_bytes

    def extend(self, seconds: float) -> None:
        """Extend the deadline by the time that Spark took to bring or consume rows."""
        self._loop.call_soon_threadsafe(self._delivery.deadline.extend, seconds)

    @property
    def waiting(self) -> bool:
        """Whether any event is unsettled."""
        return self._waiting > 0

    def read(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The batches; the time that Spark takes to bring them does not count against the deadline."""
        coming = iter(batches)
        while (batch := self._next(coming)) is not None:
            yield batch

    def take(self, batch: pa.RecordBatch) -> Iterator[Row]:
        """Start delivering a batch; yields the rows of records that need no request."""
        fresh: list[Event] = []
        known: dict[str, list[Event]] = {"recorded": [], "unrecorded": []}
        for item in read(batch):
            if not isinstance(item, Event):
                yield quarantined(item)
            elif (key := item.dedup_key) in self._copies:
                self._copies[key].append(item)
                self._unsettled_bytes += item.size
            elif (state := self._known(key)) != "no":
                known[state].append(item)
            else:
                self._copies[key] = []
                fresh.append(item)
        self._start(fresh)
        yield from self._dropped(known["recorded"], Duplicate())
        # an earlier try of this task delivered them but may not have written the receipts: write them now
        yield from self._dropped(known["unrecorded"], Delivered())

    def answers(self, *, block: bool) -> Iterator[Row]:
        """Rows of settled events; with `block` it waits up to a second for the first.

        Raises:
            Exception: an exception in a delivery, which is a defect.
        """
        try:
            settled = self._answers.get(block=block, timeout=_WAIT_SECONDS if block else None)
            while True:
                yield from self._end(settled)
                settled = self._answers.get_nowait()
        except queue.Empty:
            self._raise_defects()

    def close(self) -> None:
        """Cancel deliveries under way, and record those that arrived all the same."""
        for future in self._running:
            future.cancel()
        while not self._answers.empty():
            self._remember(self._answers.get_nowait())

    def _next(self, coming: Iterator[pa.RecordBatch]) -> pa.RecordBatch | None:
        began = self._loop.time()
        batch = next(coming, None)
        self.extend(self._loop.time() - began)
        return batch

    def _known(self, key: bytes) -> str:
        return "recorded" if key in self._arrived else self._deliveries.known(key)

    def _start(self, events: list[Event]) -> None:
        for of, group in grouped(events).items():
            self._waiting += len(group)
            self._unsettled_bytes += sum(event.size for event in group)
            work = self._delivery.deliver(of, group)
            self._running.append(asyncio.run_coroutine_threadsafe(work, self._loop))

    def _end(self, settled: SettledEvents) -> Iterator[Row]:
        """Rows of an outcome and of further copies of its events: duplicates if it was delivered."""
        self._waiting -= len(settled.events)
        self._remember(settled)
        copies = [copy for event in settled.events for copy in self._copies.pop(event.dedup_key)]
        self._unsettled_bytes -= sum(event.size for event in (*settled.events, *copies))
        yield from rows(settled)
        if isinstance(settled.outcome, Delivered):
            yield from self._dropped(copies, Duplicate())
        else:
            for of, group in grouped(copies).items():
                yield from rows(
                    structs.replace(settled, events=group, tenant=of.tenant, pipe=of.pipe, attempt=of.attempt)
                )

    def _remember(self, settled: SettledEvents) -> None:
        if isinstance(settled.outcome, Delivered):
            keys = [key for event in settled.events for key in event.delivered_keys]
            self._arrived.update(keys)
            self._deliveries.add(keys)

    def _dropped(self, events: Iterable[Event], outcome: End) -> Iterator[Row]:
        now_ms = self._clock()
        for of, group in grouped(events).items():
            yield from rows(
                SettledEvents(
                    events=group,
                    outcome=outcome,
                    tenant=of.tenant,
                    destination=self._delivery.pipes.destination_name((of.tenant, of.pipe)),
                    pipe=of.pipe,
                    attempt=of.attempt,
                    started_ms=now_ms,
                    departed_ms=now_ms,
                )
            )

    def _raise_defects(self) -> None:
        running = list[Future[None]]()
        for future in self._running:  # one look at each: it may end between two, its exception unseen
            if future.done():  # a cancelled one too: its events would never be settled
                future.result()
            else:
                running.append(future)
        self._running = running
