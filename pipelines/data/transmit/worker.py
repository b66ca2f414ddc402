"""The function that Spark's Python workers run, and the state of such a process between micro-batches.

Spark reuses its workers: the event loop, the connections to destinations, the configuration and the memory
of deliveries live as long as the process. A new one loads both topics before it sends anything.
"""

import asyncio
import functools
import itertools
import queue
import random
import threading
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Final

import aiohttp
import pyarrow as pa
from confluent_kafka import Message
from pyspark import TaskContext

from pipelines.data.transmit.admission.gate import Admission, AdmissionPolicy
from pipelines.data.transmit.admission.turns import Turns
from pipelines.data.transmit.connectors.base import ConnectorContext
from pipelines.data.transmit.connectors.registry import CONNECTORS, ConnectorPool
from pipelines.data.transmit.deduplication.dedup_window import DedupWindow
from pipelines.data.transmit.deduplication.delivery_history import DeliveryHistory, MicroBatch
from pipelines.data.transmit.delivery.decide import Policy
from pipelines.data.transmit.delivery.delivery import Delivery
from pipelines.data.transmit.delivery.kafka_rows import Row, SettledEvents, to_batch
from pipelines.data.transmit.delivery.pipe_resolver import PipeResolver
from pipelines.data.transmit.delivery.shared_call import SharedCall
from pipelines.data.transmit.delivery.timeout import Deadline, WaitLimits
from pipelines.data.transmit.delivery.transform_executor import TransformExecutor
from pipelines.data.transmit.settings import TransmitSettings
from pipelines.data.transmit.task import Task
from shared.contracts import headers as h
from shared.contracts.documents import Catalogue, TenantName
from shared.contracts.egress_policy import EgressPolicy
from shared.contracts.receipts import Lane
from shared.contracts.secrets import named_secrets
from shared.contracts.topics import Topic
from shared.kafka.config_topic import config_table
from shared.kafka.heartbeat_writer import HeartbeatWriter, process_name
from shared.kafka.tail import Tail
from shared.kafka.topic_end import TopicEnd
from shared.runtime.clock import wall_clock
from shared.runtime.egress import FairResolver, open_session
from shared.runtime.gc_tuning import spare_collector_once
from shared.runtime.logging import configure_logging, get_logger
from shared.runtime.secret_stores import store_for
from shared.runtime.secrets import SecretTable

_log = get_logger(__name__)
_LOOKUPS: Final = 32
"""Threads that resolve host names; a waiting thread costs little."""

_COMPUTING: Final = 4
"""Threads that compress and hash."""

_NEWEST_SECONDS: Final = 2.0
"""How long the brokers may take to name the newest document. It may take `pipe_wait_seconds` more to come;
then events without a pipe are put off."""

_SECRETS_SECONDS: Final = 2.0
"""How long new documents wait for their secrets. So long others wait for theirs to come into force, and no
heartbeat is sent: a fifth of the time for which one counts."""

_CONNECTIONS: Final = 5
"""Most connections of a request: S3 writes four objects at once, one of them in two parts."""


def transmit(
    settings: TransmitSettings, lane: Lane, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Batches in `schema.FLAT` to batches in `schema.OUTPUT`: the function for `mapInArrow`."""
    coming = iter(batches)
    for first in coming:  # a task without rows does not need the worker
        yield from _process(settings, lane).run(itertools.chain((first,), coming))
        spare_collector_once()


@functools.lru_cache(maxsize=1)
def _process(settings: TransmitSettings, lane: Lane) -> "Worker":
    """This process's worker, created for its first row."""
    configure_logging("transmit" if lane == "fast" else "transmit_slow")
    return Worker(settings, lane)


class Worker:
    """The state of one Python process: event loop, connections, configuration, recent deliveries."""

    def __init__(self, settings: TransmitSettings, lane: Lane) -> None:
        self._settings = settings
        self._begun = False
        self._batch = MicroBatch("", "")
        client = f"hifi-{settings.side}-transmit"
        self._loop = asyncio.new_event_loop()
        # A name that resolves slowly must not delay the others, nor what is computed.
        self._loop.set_default_executor(ThreadPoolExecutor(_LOOKUPS, thread_name_prefix="look-up"))
        self._computing = ThreadPoolExecutor(_COMPUTING, thread_name_prefix="computing")
        self._admission = Admission(admission_policy(settings, lane), wall_clock, self._loop.time)
        self._wait_limits = wait_limits(settings, lane)
        self._deliveries = DeliveryHistory(
            DedupWindow(int(settings.memory_seconds * 1000), settings.memory_entries), wall_clock
        )
        self._secrets = SecretTable(store_for(settings.side, settings.secrets)).start()
        self._named = frozenset[str]()
        """The secrets that documents name."""

        self._beats = HeartbeatWriter(
            settings.bootstrap,
            node="transmit",
            instance=process_name(),
            clock=wall_clock,
            monotonic=time.monotonic,
        )
        self._table = config_table(settings.bootstrap, client, self._learn, self._beats.beat)
        self._tail = Tail(
            bootstrap=settings.bootstrap,
            client_id=client,
            topic=Topic.RECEIPTS,
            window_ms=int(settings.memory_seconds * 1000),
            take=self._take,
        ).start()
        self._thread = threading.Thread(target=self._loop.run_forever, name="deliveries", daemon=True)
        self._thread.start()
        self._sessions: list[aiohttp.ClientSession] = []
        self._connectors = asyncio.run_coroutine_threadsafe(self._pool(), self._loop).result()
        self._transformer = TransformExecutor(self._secrets, settings.unsettled_bytes)
        self._end = TopicEnd(settings.bootstrap, client, Topic.CONFIG)
        pipe_seconds = _NEWEST_SECONDS + settings.pipe_wait_seconds
        # Not on a thread that look-ups share: it must not wait for them, nor they for it.
        self._is_newest = SharedCall(lambda: self._end.reached_by(self._table, pipe_seconds), "newest")
        self._pipes = PipeResolver(lambda: self._table.view, self._is_newest, pipe_seconds, CONNECTORS)

    def _take(self, receipts: list[Message]) -> None:
        """Learn from `receipts` records which events were delivered and which destinations are fast again."""
        self._deliveries.take(receipts)
        if found := recovered(receipts):
            self._loop.call_soon_threadsafe(self._admission.note_recovered, found)

    async def _pool(self) -> ConnectorPool:
        """Opens the sessions, which belong to the loop that this runs on."""
        settings, self._resolver = self._settings, FairResolver(_LOOKUPS)
        canary = self._context(settings.canary_egress) if settings.allow_address else None
        return ConnectorPool(CONNECTORS, self._context(settings.egress), canary)

    def _context(self, egress: EgressPolicy) -> ConnectorContext:
        # Requests wait for their turn before they are sent, and never for a connection.
        session = open_session(_CONNECTIONS * self._settings.connections, egress, self._resolver)
        self._sessions.append(session)
        return ConnectorContext(
            session=session,
            secrets=self._secrets,
            egress=egress,
            resolver=self._resolver,
            threads=self._computing,
            clock=wall_clock,
        )

    async def _disconnect(self) -> None:
        await self._connectors.close()
        for session in self._sessions:
            await session.close()
        await self._resolver.close()

    def _learn(self, catalogue: Catalogue) -> None:
        """Read the secrets of new documents and import their connectors before they come into force.

        Runs on the table's thread: importing for the first s3 or kinesis destination takes up to a second. A
        store that hangs delays documents that name new secrets, and no others.
        """
        former, self._named = self._named, named_secrets(e.document for e in catalogue.entries.values())
        self._secrets.want(self._named)
        for name in {destination.connector for destination in catalogue.destinations.values()}:
            try:
                CONNECTORS.get(name)
            except Exception:  # its pipes say so, and are tried again; others are not affected
                _log.exception("connector cannot be loaded", extra={"connector": name})
        if not self._secrets.wait_for(self._named - former, _SECRETS_SECONDS):
            _log.warning("secrets of new documents not read yet: events that need one are retried later")

    def run(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Deliver the rows of one task; yields rows as events are settled."""
        self._ready()
        task = self._task()
        try:
            for batch in task.read(batches):
                yield from self._given([*task.take(batch), *task.answers(block=False)], task)
                while task.unsettled_bytes > self._settings.unsettled_bytes:
                    yield from self._given(list(task.answers(block=True)), task)
            while task.waiting:
                yield from self._given(list(task.answers(block=True)), task)
        finally:
            task.close()

    def _given(self, rows: list[Row], task: Task) -> Iterator[pa.RecordBatch]:
        """Yield rows; the time that Spark takes to consume them does not count against the deadline."""
        if rows:
            began = self._loop.time()
            yield to_batch(rows)
            task.extend(self._loop.time() - began)

    def close(self) -> None:
        """Close threads and connections."""
        asyncio.run_coroutine_threadsafe(self._disconnect(), self._loop).result()
        self._transformer.close()
        self._computing.shutdown(wait=False, cancel_futures=True)
        self._tail.stop()
        self._is_newest.close()
        self._table.stop()
        self._end.close()
        self._beats.close()
        self._secrets.stop()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _ready(self) -> None:
        """Block until recent receipts and the configuration are read.

        At first without a timeout: without receipts it would send events twice, without configuration not at
        all. Later only in the first task of a query's run, and if Spark retries a task: another process may
        have delivered just before. What ingest or route repeats after a crash was delivered earlier, and the
        tail has read that long since.
        """
        while not (self._table.wait(5.0) and self._tail.wait(5.0)):
            _log.warning("waiting for Kafka: configuration or receipts not read to the end yet")
        if not self._begun:
            self._begun = True
            if not self._secrets.wait(self._settings.secrets_wait_seconds):
                _log.warning("secrets not loaded yet: events that need one are retried later")
        former, self._batch = self._batch, _micro_batch()
        self._deliveries.begin(self._batch)
        is_other_run = self._batch.run != former.run
        wait_seconds = self._settings.memory_wait_seconds
        if (is_other_run or _tried_before()) and not self._tail.catch_up(wait_seconds):
            _log.warning("latest receipts not read in time: some events may be sent twice")

    def _task(self) -> Task:
        answers: queue.SimpleQueue[SettledEvents] = queue.SimpleQueue()
        delivery = Delivery(
            pipes=self._pipes,
            connectors=self._connectors,
            transformer=self._transformer,
            policy=policy(self._settings, self._admission.rules.lane),
            deadline=Deadline(self._loop.time(), self._settings.deadline_seconds),
            admission=self._admission,
            turns=Turns(self._wait_limits.behind),
            wait_limits=self._wait_limits,
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


def _micro_batch() -> MicroBatch:
    """The micro-batch of the present task. A run of a query is the group of its jobs."""
    return MicroBatch(_local_property("spark.jobGroup.id"), _local_property("streaming.sql.batchId"))


def _local_property(name: str) -> str:
    """A local property that Spark's driver set for the present task; empty if it set none."""
    context = TaskContext.get()
    return (context.getLocalProperty(name) or "") if context is not None else ""


def _tried_before() -> bool:
    """Whether Spark runs this task again after it failed."""
    context = TaskContext.get()
    return context is not None and context.attemptNumber() > 0


def recovered(receipts: Iterable[Message]) -> list[tuple[TenantName, int]]:
    """Destinations that the slow lane found fast again, and when (epoch milliseconds).

    Older versions name no tenant, which matches no destination: the slow lane repeats it with each request.
    """
    found = ((dict(each.headers() or ()).get(h.RECOVERED), each.timestamp()[1]) for each in receipts)
    named = ((text.decode().partition("/"), at_ms) for text, at_ms in found if isinstance(text, bytes))
    return [((tenant, name), at_ms) for (tenant, _, name), at_ms in named]


def admission_policy(settings: TransmitSettings, lane: Lane) -> AdmissionPolicy:
    """The admission policy of a lane; the fast lane's tasks share each destination's limits."""
    share = 1 / settings.transmit_tasks if lane == "fast" else 1.0
    return AdmissionPolicy(lane=lane, share=share, requests=settings.connections)


def wait_limits(settings: TransmitSettings, lane: Lane) -> WaitLimits:
    """How long a lane waits for one destination."""
    if lane == "slow":
        return WaitLimits(behind=settings.turn_seconds)
    return WaitLimits(answer=settings.patience_seconds, turn=settings.turn_seconds)


def policy(settings: TransmitSettings, lane: Lane) -> Policy:
    """The policy that the settings describe for a lane."""
    return Policy(
        local_tries=settings.local_tries,
        pause=settings.local_pause_seconds,
        pause_limit=settings.local_pause_limit_seconds,
        give_up=timedelta(hours=settings.give_up_hours),
        lane=lane,
    )
