"""The canary process: starts its destinations, then sends the events that should reach them."""

import asyncio
import secrets
from collections.abc import Mapping
from typing import Final

import aiohttp

from pipelines.control.canary.config_publisher import ConfigPublisher
from pipelines.control.canary.delivery_tracker import DeliveryTracker
from pipelines.control.canary.documents import PIPES, CanaryEvent, CanaryPipe, documents
from pipelines.control.canary.metrics import CanaryMetrics
from pipelines.control.canary.producer import CanaryProducer
from pipelines.control.canary.receiver import receiver
from pipelines.control.canary.schedule import Pause, Schedule
from pipelines.control.canary.settings import CanarySettings
from shared.contracts.documents import LIVE_SECONDS
from shared.runtime.clock import Clock
from shared.runtime.logging import get_logger

NODE: Final = "canary"
_POST_SECONDS: Final = 10.0
_LAST_SECONDS: Final = 1.0
"""How long the work in progress may take when the canary stops."""

_POLL_SECONDS: Final = 0.05
_log = get_logger(__name__)


class Canary:
    """One canary process."""

    def __init__(self, settings: CanarySettings, clock: Clock) -> None:
        self._settings = settings
        self._clock = clock
        pipes = [pipe.name for pipe in PIPES]
        self._tracker = DeliveryTracker(pipes, int(settings.canary_missing_seconds * 1000))
        self._metrics = CanaryMetrics(self._tracker, pipes, clock)
        self._metrics.ready.set_function(lambda: all(self._report().values()))
        self._pause = Pause(clock(), settings.canary_pause_seconds)
        self._producer: CanaryProducer | None = None

    async def run(self, stopping: asyncio.Event) -> None:
        """Serve until stopping, and send events if transmit can reach this process.

        Raises:
            OSError: if the port is taken.
        """
        host, port = self._settings.host, self._settings.port
        async with receiver(
            host,
            port,
            on_event=self._arrived,
            on_pause=self._begin_pause,
            report=self._report,
            registry=self._metrics.registry,
        ) as port:
            base_url = self._documents_url(port)
            if base_url is None:
                _log.warning(
                    "idle: transmit cannot reach this process; set HIFI_CANARY_SINKS to its public address"
                )
                await stopping.wait()
            else:
                await self._produce(base_url, stopping)

    def _documents_url(self, port: int) -> str | None:
        if self._settings.canary_sinks is None and self._settings.allow_loopback:
            return f"http://{self._settings.host}:{port}"
        return self._settings.canary_sinks

    async def _produce(self, base_url: str, stopping: asyncio.Event) -> None:
        write_key = secrets.token_urlsafe(24)  # only in this process: it is not stored
        async with aiohttp.ClientSession(
            headers={"Authorization": f"Bearer {write_key}"},
            timeout=aiohttp.ClientTimeout(total=_POST_SECONDS),
        ) as session:
            self._producer = CanaryProducer(
                run=secrets.token_hex(6),
                session=session,
                url=f"{self._settings.collect_url.rstrip('/')}/v1/events",
                publisher=ConfigPublisher(
                    self._settings.bootstrap, f"hifi-{self._settings.side}-{NODE}", LIVE_SECONDS
                ),
                documents=documents(base_url, write_key),
                pause=self._pause,
                schedule=Schedule(self._settings.canary_rate, self._settings.canary_seconds),
                tracker=self._tracker,
                metrics=self._metrics,
                clock=self._clock,
            )
            producing = asyncio.ensure_future(self._producer.run(stopping))
            stopped = asyncio.ensure_future(stopping.wait())
            await asyncio.wait((producing, stopped), return_when=asyncio.FIRST_COMPLETED)
            await _ended(producing)
            await self._drain()

    async def _drain(self) -> None:
        """Wait for events that are under way, so that they need no retry."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._settings.canary_stop_seconds
        while self._tracker.owed(self._clock()) and loop.time() < deadline:  # noqa: ASYNC110 no event to wait for
            await asyncio.sleep(_POLL_SECONDS)

    def _arrived(self, pipe: CanaryPipe, event: CanaryEvent) -> None:
        now_ms = self._clock()
        arrival = self._tracker.arrive(pipe.name, event.id, now_ms)
        self._metrics.count(pipe.name, arrival, now_ms - event.sent_ms, right=pipe.right(event))

    def _begin_pause(self, seconds: int) -> None:
        self._pause.begin(self._clock(), seconds)

    def _report(self) -> Mapping[str, bool]:
        if self._producer is None:
            return {"idle": True}
        return {"documents": self._producer.published, "collect": self._producer.taken}


async def _ended(producing: "asyncio.Future[None]") -> None:
    """Give the producer some time to finish, then cancel it.

    Raises:
        Exception: the error that ended it early.
    """
    done, _ = await asyncio.wait((producing,), timeout=_LAST_SECONDS)
    if done:
        producing.result()
    else:
        producing.cancel()
