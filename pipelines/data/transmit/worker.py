"""The function that Spark's Python workers run, and what such a process keeps between micro-batches.

Spark reuses its workers: the event loop, the connections to destinations, the configuration and the memory
of deliveries live as long as the process. A new one loads both topics before it sends anything.
"""

import asyncio
import functools
import itertools
import queue
import random
import threading
from collections.abc import Iterable, Iterator
from datetime import timedelta

import pyarrow as pa
from pyspark import TaskContext

from pipelines.data.transmit.connecting import Connectors
from pipelines.data.transmit.connectors.base import Context
from pipelines.data.transmit.connectors.registry import KINDS
from pipelines.data.transmit.decide import Policy
from pipelines.data.transmit.delivered import Deliveries
from pipelines.data.transmit.delivery import Delivery
from pipelines.data.transmit.dial import open_session
from pipelines.data.transmit.memory import Memory
from pipelines.data.transmit.output import Row, Settled, to_batch
from pipelines.data.transmit.settings import TransmitSettings
from pipelines.data.transmit.targets import Targets
from pipelines.data.transmit.task import Task
from shared.contracts.secrets import NoSecrets
from shared.contracts.topics import Topic
from shared.kafka.config_table import config_table
from shared.kafka.tail import Tail
from shared.runtime.clock import wall_clock
from shared.runtime.collector import spare_collector
from shared.runtime.logging import configure_logging, get_logger

_log = get_logger(__name__)


def transmit(settings: TransmitSettings, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Batches in schema.FLAT to batches in schema.OUTPUT: the function for `mapInArrow`."""
    coming = iter(batches)
    for first in coming:  # a task without rows needs no worker
        yield from _process(settings).run(itertools.chain((first,), coming))
        _settle()


@functools.lru_cache(maxsize=1)
def _process(settings: TransmitSettings) -> "Worker":
    """This process's worker, made at its first row."""
    configure_logging("transmit")
    return Worker(settings)


@functools.cache
def _settle() -> None:
    """Once, after the first task, which imports the last of what is imported: Spark collects after each."""
    spare_collector()


class Worker:
    """What one Python process keeps: a loop on its own thread, connections, configuration, memory."""

    def __init__(self, settings: TransmitSettings) -> None:
        self._settings = settings
        client = f"hifi-{settings.side}-transmit"
        self._deliveries = Deliveries(Memory(int(settings.memory_seconds * 1000), settings.memory_entries))
        self._table = config_table(settings.bootstrap, client)
        self._tail = Tail(
            bootstrap=settings.bootstrap,
            client_id=client,
            topic=Topic.RECEIPTS,
            window_ms=int(settings.memory_seconds * 1000),
            take=self._deliveries.take,
        ).start()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="deliveries", daemon=True)
        self._thread.start()
        self._connectors = asyncio.run_coroutine_threadsafe(self._connect(), self._loop).result()
        self._targets = Targets(lambda: self._table.view, settings.pipe_wait_seconds, KINDS)

    async def _connect(self) -> Connectors:
        self._session = open_session(self._settings.connections, self._settings.reach)
        context = Context(
            session=self._session, secrets=NoSecrets(), reach=self._settings.reach, clock=wall_clock
        )
        return Connectors(KINDS, context)

    async def _disconnect(self) -> None:
        await self._connectors.close()
        await self._session.close()

    def run(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Deliver the rows of one task; what comes to an end is given out as it does."""
        self._ready()
        task = self._task()
        try:
            for batch in batches:
                yield from self._given([*task.take(batch), *task.answers(block=False)], task)
                while task.unsettled_bytes > self._settings.unsettled_bytes:
                    yield from self._given(list(task.answers(block=True)), task)
            while task.waiting:
                yield from self._given(list(task.answers(block=True)), task)
        finally:
            task.close()

    def _given(self, rows: list[Row], task: Task) -> Iterator[pa.RecordBatch]:
        """Rows to write; the time until they were taken does not count against the deadline."""
        if rows:
            began = self._loop.time()
            yield to_batch(rows)
            task.extend(self._loop.time() - began)

    def close(self) -> None:
        """End threads and connections."""
        asyncio.run_coroutine_threadsafe(self._disconnect(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
        self._tail.stop()
        self._table.stop()

    def _ready(self) -> None:
        """Block until the process knows what was delivered and where to deliver.

        At first for as long as it takes: without the one it would send twice, without the other nowhere.
        Later only where a task is tried again, whose first try another process may have made; what a replay
        upstream brings is older than what the tail has long read by itself.
        """
        while not (self._table.wait(5.0) and self._tail.wait(5.0)):
            _log.warning("configuration or receipts not read to the end yet")
        if _tried_before() and not self._tail.catch_up(self._settings.memory_wait_seconds):
            _log.warning("latest receipts not read in time: a replay may send some events twice")

    def _task(self) -> Task:
        answers: queue.SimpleQueue[Settled] = queue.SimpleQueue()
        delivery = Delivery(
            targets=self._targets,
            connectors=self._connectors,
            policy=policy(self._settings),
            deadline=self._loop.time() + self._settings.deadline_seconds,
            requests_per_destination=self._settings.requests_per_destination,
            settle=answers.put,
            clock=wall_clock,
            jitter=random.random,
        )
        return Task(
            loop=self._loop,
            delivery=delivery,
            answers=answers,
            deliveries=self._deliveries,
            clock=wall_clock,
        )


def _tried_before() -> bool:
    """Whether Spark runs this task again after it failed."""
    context = TaskContext.get()
    return context is not None and context.attemptNumber() > 0


def policy(settings: TransmitSettings) -> Policy:
    """The policy that the settings describe."""
    return Policy(
        local_tries=settings.local_tries,
        pause=settings.local_pause_seconds,
        pause_limit=settings.local_pause_limit_seconds,
        give_up=timedelta(hours=settings.give_up_hours),
    )
