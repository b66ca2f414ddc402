"""transmit with a scripted destination, without Spark and Kafka."""

import asyncio
import dataclasses
import queue
import time
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any, Final

import aiohttp
import msgspec
import psutil
import pyarrow as pa
from aiohttp.abc import AbstractResolver

from pipelines.data.transmit.admission import lanes
from pipelines.data.transmit.admission.circuit_breaker import BreakerThresholds
from pipelines.data.transmit.admission.gate import Admission, AdmissionPolicy, Gate
from pipelines.data.transmit.admission.turns import Turns
from pipelines.data.transmit.connectors.base import ConnectorContext, ConnectorType
from pipelines.data.transmit.connectors.registry import CONNECTORS, ConnectorPool
from pipelines.data.transmit.deduplication.dedup_window import DedupWindow
from pipelines.data.transmit.deduplication.delivery_history import DeliveryHistory
from pipelines.data.transmit.delivery.decide import Policy
from pipelines.data.transmit.delivery.delivery import Delivery
from pipelines.data.transmit.delivery.kafka_rows import Row, SettledEvents
from pipelines.data.transmit.delivery.pipe_resolver import PipeResolver
from pipelines.data.transmit.delivery.timeout import Deadline, WaitLimits
from pipelines.data.transmit.delivery.transform_executor import TransformExecutor
from pipelines.data.transmit.task import Task
from scripts.local.side import REACH
from shared.contracts.documents import Batch, Catalogue, Destination, Entry, Limits, Pipe, topic_key
from shared.contracts.egress_policy import EgressPolicy
from shared.contracts.publish_plan import document_key
from shared.contracts.receipts import Lane, Receipt
from shared.contracts.secrets import Secrets, UnknownSecretError
from shared.contracts.topics import Topic
from shared.runtime.clock import wall_clock
from shared.runtime.egress import MOST_IDLE, FairResolver, open_session
from tests.harness.scripted_server import Loop, Serve, Server


class Held:
    """A store of secrets that a test fills, by reference."""

    def __init__(self) -> None:
        self.values: dict[str, str] = {}

    def get(self, reference: str) -> str:
        if reference not in self.values:
            raise UnknownSecretError(reference)
        return self.values[reference]


_TENANT: Final = "t"

AMPLE: Final = 60.0
"""Seconds: more than any immediate answer takes, even if the machine stalls for a while."""

CONSUMING: Final = 0.001
"""Seconds that Spark needs for a task's rows: the deadline is that much later."""

LOOK_UPS: Final = 4
"""Fewer than the threads of the loop's executor, which resolve names."""

BREAKER_SECONDS: Final = 600.0
"""First opening time of a lane's breaker: longer than a test lasts, unless `let_pass` ends it."""


def _policy(lane: Lane | None, requests: int, slow: float) -> AdmissionPolicy:
    never = BreakerThresholds(failures=10_000, wasted=10_000)
    breaking = BreakerThresholds(wasted=AMPLE, pause=BREAKER_SECONDS, pause_limit=2 * BREAKER_SECONDS)
    return AdmissionPolicy(
        lane=lane or "slow",
        requests=requests,
        breaking=breaking if lane else never,
        slowness=lanes.LaneThresholds(slow=slow, quick=AMPLE),
    )


class Rig:
    """One server and one worker's loop; `deliver` runs one task over events and returns its rows.

    The server is on the loopback address, so its side is a local one unless `egress` says otherwise.
    """

    def __init__(
        self,
        egress: EgressPolicy = REACH,
        resolver: AbstractResolver | None = None,
        lane: Lane | None = None,
        patience: float = 0.5,
        canary_egress: EgressPolicy | None = None,
        *,
        slow: float = AMPLE,
        requests: int = 100,
        most_bytes: int = 64 * 1024 * 1024,
        idle: int = MOST_IDLE,
    ) -> None:
        """By default the lane is the slow one, which waits for every destination, and no breaker ever opens.

        `patience` is the fast lane's wait for an answer, in seconds; for a slot it waits twice as long.
        `slow`: the average duration of requests above which a destination leaves the fast lane, seconds.
        `requests`: most in flight, over all destinations; `idle`: most idle connections to them.
        `most_bytes`: by which masks and transforms may make events larger. A breaker stays open for
        BREAKER_SECONDS.
        """
        self._far, self._near = Loop(), Loop()
        self._idle = idle
        self._passed = 0.0
        """Seconds by which the clock of transmit's loop is ahead."""
        self._gates_ahead_ms = 0
        """Milliseconds by which the wall clock of the gates is ahead."""
        real_time = self._near.loop.time
        self._near.loop.time = lambda: real_time() + self._passed  # type: ignore[method-assign]
        self.admission = Admission(_policy(lane, requests, slow), self._clock, self._near.loop.time)
        self.wait_limits = WaitLimits(answer=patience, turn=2 * patience) if lane == "fast" else WaitLimits()
        self.pause_limit = 0.5
        """Longest pause before a local retry, seconds."""
        self._listening: list[asyncio.Server] = []
        self.server = Server(self._far)
        self._documents: dict[bytes, Entry] = {}
        self.deliveries = DeliveryHistory(DedupWindow(600_000, 1000), wall_clock)
        self._resolver = resolver = resolver or self._near.run(self._system_resolver())
        self.session = self._near.run(self._open(egress, resolver))
        self._canary_session = self._near.run(self._open(canary_egress or egress, resolver))
        self._computing = ThreadPoolExecutor(2)
        self.secrets = Held()
        self.is_newest = True
        """Whether the configuration is known to be the newest."""

        self.ahead_ms = 0
        """Milliseconds by which the connectors' clock is ahead."""
        self.context = ConnectorContext(
            session=self.session,
            secrets=self.secrets,
            egress=egress,
            resolver=resolver,
            threads=self._computing,
            clock=lambda: wall_clock() + self.ahead_ms,
        )
        self._canary_egress = canary_egress or egress
        self.transformer = TransformExecutor(self.secrets, most_bytes)
        self.use(CONNECTORS)
        self.seconds = 0.0

    def _clock(self) -> int:
        """The gates' wall clock."""
        return wall_clock() + self._gates_ahead_ms

    async def _system_resolver(self) -> AbstractResolver:
        return FairResolver(LOOK_UPS)

    async def _open(self, egress: EgressPolicy, resolver: AbstractResolver) -> aiohttp.ClientSession:
        return open_session(5 * self.admission.rules.requests, egress, resolver, self._idle)

    def listen(self, serve: Serve, **how: Any) -> int:
        """Start another server with a handler of its own; `how` is for asyncio. Returns its port."""
        where: dict[str, Any] = {} if "sock" in how else {"host": "127.0.0.1", "port": 0}
        server = self._far.run(asyncio.start_server(serve, **where, **how))
        self._listening.append(server)
        return int(server.sockets[0].getsockname()[1])

    async def _stop_listening(self) -> None:
        for server in self._listening:
            server.close()

    def replace_secrets(self, secrets: Secrets) -> None:
        """Give connectors that are opened from now on other secrets."""
        self.context = dataclasses.replace(self.context, secrets=secrets)
        self.use(self._kinds)

    def connector(self, name: str) -> Any:
        """The open connector for customers' destinations."""
        destination = Destination(name=name, tenant=_TENANT, connector=name, options={})
        return self._near.run(self._connectors.connector(destination))

    def use(self, kinds: Mapping[str, ConnectorType[Any]]) -> None:
        """Deliver through these connectors from now on."""
        self._kinds = kinds
        canary = dataclasses.replace(self.context, session=self._canary_session, egress=self._canary_egress)
        self._connectors = ConnectorPool(kinds, self.context, canary)

    @property
    def dialled(self) -> list[str]:
        """Hosts that transmit's sockets have connected to so far."""
        return self._near.loop.dialled

    def tasks(self) -> int:
        """Tasks on transmit's loop."""
        return len(asyncio.all_tasks(self._near.loop))

    def close(self) -> None:
        self._near.run(self._connectors.close())
        self._near.run(self.session.close())
        self._near.run(self._canary_session.close())
        self._near.run(self._resolver.close())
        self.transformer.close()
        self._computing.shutdown()
        self._far.run(self._stop_listening())
        self.server.close()
        self._near.close()
        self._far.close()

    def let_pass(self, seconds: float) -> None:
        """Advance the clock of transmit's loop, which ends its waits of that length."""
        self._near.run(self._let_pass(seconds))

    def let_gates_wait(self, seconds: float) -> None:
        """Advance the gates' wall clock too: requests that left the fast lane may be tried again."""
        self._gates_ahead_ms += int(1000 * seconds)
        self.let_pass(seconds)

    async def _let_pass(self, seconds: float) -> None:
        self._passed += seconds

    def wait_disconnected(self, seconds: float = AMPLE) -> None:
        """Wait until transmit has no connection to the server; fail if one stays open."""
        until = time.monotonic() + seconds
        while held := self.connections():
            assert time.monotonic() < until, f"{held} connections are still open"
            time.sleep(0.02)

    def connections(self) -> int:
        found = psutil.Process().net_connections("tcp")
        ours = [each for each in found if each.raddr and each.raddr.port == self.server.port]
        return sum(1 for each in ours if each.status == psutil.CONN_ESTABLISHED)

    def pipe(self, name: str, path: str, port: int | None = None, **fields: Any) -> None:
        """A pipe, and a destination of the same name, on the server's path."""
        options = {"url": f"http://127.0.0.1:{port or self.server.port}{path}"} | fields.pop("options", {})
        self.lead(name, fields.pop("connector", "webhook"), options, **fields)

    def lead(self, name: str, connector: str, options: dict[str, Any], **fields: Any) -> None:
        """A pipe, and a destination of the same name, of any kind, which `owner` may own."""
        shape = {field: fields.pop(field) for field in ("masks", "transform") if field in fields}
        fields.setdefault("limits", Limits(requests=4))
        fields.setdefault("timeout_seconds", AMPLE)
        tenant = fields.pop("tenant", _TENANT)
        owner = fields.pop("owner", tenant)
        batch = Batch(
            **{limit: fields.pop(limit) for limit in ("max_events", "max_bytes") if limit in fields}
        )
        destination = Destination(
            name=name, tenant=owner, connector=connector, options=options, batch=batch, **fields
        )
        pipe = Pipe(name=name, tenant=tenant, source="s", destination=name, **shape)
        for document in (destination, pipe):
            self._documents[document_key(document)] = Entry(version=1, document=document)

    def without(self, kind: str, name: str) -> None:
        """Delete a document of the usual tenant."""
        del self._documents[topic_key(_TENANT, kind, name)]

    def gate(self, tenant: str, name: str) -> Gate:
        """The gate of a destination."""
        document = self._documents[topic_key(tenant, "destination", name)].document
        assert isinstance(document, Destination)
        return self.admission.of(document)

    def forget_deliveries(self) -> None:
        """Forget earlier deliveries, so that the same ids count as new."""
        self.deliveries = DeliveryHistory(DedupWindow(600_000, 1000), wall_clock)

    def deliver(self, *batches: pa.RecordBatch, deadline: float = AMPLE) -> list[Row]:
        """Run one task to its end."""
        return self.deliver_as_read(batches, deadline)

    def deliver_as_read(self, batches: Iterable[pa.RecordBatch], deadline: float = AMPLE) -> list[Row]:
        """Run one task on batches that Spark delivers slowly."""
        task, began = self.task(deadline), time.monotonic()
        rows: list[Row] = []
        for batch in task.read(batches):
            rows += [*task.take(batch), *task.answers(block=False)]
        while task.waiting:
            rows += task.answers(block=True)
            task.extend(CONSUMING)
        task.close()
        self.seconds = time.monotonic() - began
        return rows

    async def _has_newest(self) -> bool:
        return self.is_newest

    def task(self, deadline: float) -> Task:
        answers: queue.SimpleQueue[SettledEvents] = queue.SimpleQueue()
        catalogue = Catalogue(self._documents)
        delivery = Delivery(
            pipes=PipeResolver(lambda: catalogue, self._has_newest, AMPLE, self._kinds),
            connectors=self._connectors,
            transformer=self.transformer,
            policy=Policy(
                local_tries=3,
                pause=0.01,
                pause_limit=self.pause_limit,
                give_up=timedelta(hours=24),
                lane=self.admission.rules.lane,
            ),
            deadline=Deadline(self._near.loop.time(), deadline),
            admission=self.admission,
            turns=Turns(self.wait_limits.behind),
            wait_limits=self.wait_limits,
            settle=answers.put,
            clock=wall_clock,
            jitter=lambda: 0.5,
        )
        return Task(
            loop=self._near.loop,
            delivery=delivery,
            answers=answers,
            deliveries=self.deliveries,
            clock=wall_clock,
        )


def receipts(rows: list[Row]) -> list[Receipt]:
    """The receipts among rows."""
    return [msgspec.json.decode(r.value or b"", type=Receipt) for r in rows if r.topic == Topic.RECEIPTS]


def records(rows: list[Row]) -> list[Row]:
    """The rows that are not receipts."""
    return [row for row in rows if row.topic != Topic.RECEIPTS]


def header(headers: list[tuple[str, bytes | None]], name: str) -> str:
    """The text of a record's header."""
    return (dict(headers)[name] or b"").decode()
