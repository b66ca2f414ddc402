"""Wires the parts of a collect process."""

import asyncio
from contextlib import ExitStack
from time import monotonic
from typing import Any

import uuid_utils
from msgspec.structs import asdict

from pipelines.data.collect.app import CollectApp
from pipelines.data.collect.bodies.body import BodyReader, no_memory_left
from pipelines.data.collect.handler import EventsHandler
from pipelines.data.collect.key_usage import KeyUsage, reporting
from pipelines.data.collect.metrics import CollectMetrics
from pipelines.data.collect.rate_limiter import RateLimiter
from pipelines.data.collect.readiness import Readiness
from pipelines.data.collect.settings import CollectSettings
from shared.contracts.limits import MAX_BODY_BYTES
from shared.kafka.config_topic import config_table
from shared.kafka.heartbeat_writer import HeartbeatWriter, process_name
from shared.kafka.producer import AwaitedProducer, producer_config
from shared.runtime.body_budget import BodyBudget
from shared.runtime.clock import wall_clock
from shared.runtime.health import health_served
from shared.runtime.logging import get_logger

_log = get_logger(__name__)


class CollectService:
    """Starts and stops what runs beside the requests: the configuration's table and the producer."""

    def __init__(self, settings: CollectSettings) -> None:
        self._settings = settings
        self._client_id = f"collect-{settings.side}"
        self._beside = ExitStack()

    async def __aenter__(self) -> CollectApp:
        """Start; returns before Kafka answers: see /readyz.

        Raises:
            OSError: the port for metrics is in use.
        """
        settings, metrics = self._settings, CollectMetrics()
        self._beats = HeartbeatWriter(
            settings.bootstrap, node="collect", instance=process_name(), clock=wall_clock, monotonic=monotonic
        )
        self._table = config_table(settings.bootstrap, self._client_id, used=self._beats.beat)
        self._producer = AwaitedProducer(self._producer_config(), settings.ack_timeout)
        budget = BodyBudget(settings.bodies_bytes, no_memory_left)
        metrics.held_bytes.set_function(lambda: budget.held)
        readiness = Readiness(self._table, self._producer)
        usage = KeyUsage()
        self._tasks = [
            asyncio.create_task(readiness.watch()),
            asyncio.create_task(reporting(usage, self._producer, wall_clock)),
        ]
        handler = EventsHandler(
            config=self._table,
            producer=self._producer,
            keys=usage,
            limiter=RateLimiter(monotonic),
            metrics=metrics,
            clock=wall_clock,
            new_id=new_id,
            bodies=BodyReader(limit=MAX_BODY_BYTES, seconds=settings.body_timeout, budget=budget),
        )
        if settings.metrics_port is None:
            return CollectApp(handler, readiness, metrics, settings.max_requests, metrics.registry)
        self._serve_metrics(settings.metrics_port, readiness, metrics)
        return CollectApp(handler, readiness, metrics, settings.max_requests, None)

    async def __aexit__(self, *_: object) -> None:
        """Write what is queued, then stop."""
        await asyncio.to_thread(self._beside.close)
        for task in self._tasks:
            task.cancel()
        await self._producer.close()
        await asyncio.to_thread(self._table.stop)
        await asyncio.to_thread(self._beats.close)

    def _serve_metrics(self, port: int, readiness: Readiness, metrics: CollectMetrics) -> None:
        """Serve metrics on a port that the load balancer does not reach."""
        host = self._settings.host
        serving = health_served(host, port, lambda: asdict(readiness.report()), metrics.registry)
        taken = self._beside.enter_context(serving)
        _log.info("metrics on a port of their own", extra={"host": host, "port": taken})

    def _producer_config(self) -> dict[str, Any]:
        return producer_config(self._settings.bootstrap, self._client_id) | {
            "linger.ms": self._settings.linger_ms,
            "queue.buffering.max.kbytes": self._settings.queue_bytes // 1024,
        }


def new_id() -> str:
    """A UUIDv7."""
    return str(uuid_utils.uuid7())
