"""The parts of a collect process, put together."""

import asyncio
from contextlib import ExitStack
from time import monotonic
from typing import Any

import uuid_utils
from msgspec.structs import asdict

from pipelines.data.collect.app import CollectApp
from pipelines.data.collect.body import BodyReader
from pipelines.data.collect.body_budget import BodyBudget
from pipelines.data.collect.handler import EventIntake
from pipelines.data.collect.metrics import Meters
from pipelines.data.collect.rate_limiter import RateLimiter
from pipelines.data.collect.readiness import Readiness
from pipelines.data.collect.settings import CollectSettings
from shared.contracts.limits import MAX_BODY_BYTES
from shared.kafka.config_table import config_table
from shared.kafka.producer import AwaitedProducer, producer_config
from shared.runtime.clock import wall_clock
from shared.runtime.health import health_served
from shared.runtime.logging import get_logger

_log = get_logger(__name__)


class CollectService:
    """A context manager around what runs beside the requests: the table of documents and the producer."""

    def __init__(self, settings: CollectSettings) -> None:
        self._settings = settings
        self._client_id = f"collect-{settings.side}"
        self._beside = ExitStack()

    async def __aenter__(self) -> CollectApp:
        """Start; returns before Kafka answered, which /readyz tells.

        Raises:
            OSError: if the port of metrics is taken.
        """
        settings, meters = self._settings, Meters()
        self._table = config_table(settings.bootstrap, self._client_id)
        self._producer = AwaitedProducer(self._producer_config(), settings.ack_timeout)
        budget = BodyBudget(settings.bodies_bytes)
        meters.held_bytes.set_function(lambda: budget.held)
        readiness = Readiness(self._table, self._producer)
        self._watch = asyncio.create_task(readiness.watch())
        intake = EventIntake(
            documents=self._table,
            producer=self._producer,
            limiter=RateLimiter(monotonic),
            meters=meters,
            clock=wall_clock,
            new_id=new_id,
            bodies=BodyReader(limit=MAX_BODY_BYTES, seconds=settings.body_timeout, budget=budget),
        )
        if settings.metrics_port is None:
            return CollectApp(intake, readiness, meters, settings.max_requests, meters.registry)
        self._tell_metrics(settings.metrics_port, readiness, meters)
        return CollectApp(intake, readiness, meters, settings.max_requests, None)

    async def __aexit__(self, *_: object) -> None:
        """Write what is queued, then end."""
        await asyncio.to_thread(self._beside.close)
        self._watch.cancel()
        await self._producer.close()
        await asyncio.to_thread(self._table.stop)

    def _tell_metrics(self, port: int, readiness: Readiness, meters: Meters) -> None:
        """On a port of their own, which no load balancer reaches."""
        host = self._settings.host
        serving = health_served(host, port, lambda: asdict(readiness.report()), meters.registry)
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
