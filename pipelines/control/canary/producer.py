"""Publishes the canary's documents, then sends a few events at a steady rate."""

import asyncio
import itertools
from collections.abc import Sequence
from http import HTTPStatus
from typing import Final

import aiohttp
from confluent_kafka import KafkaException

from pipelines.control.canary.config_publisher import ConfigPublisher
from pipelines.control.canary.delivery_tracker import DeliveryTracker
from pipelines.control.canary.events import CONTENT_TYPE, Ids, request
from pipelines.control.canary.metrics import CanaryMetrics
from pipelines.control.canary.schedule import Pause, Schedule, pause_after
from shared.contracts.documents import Document
from shared.kafka.config_topic import PublishError
from shared.runtime.clock import Clock
from shared.runtime.logging import get_logger

_log = get_logger(__name__)
_UNKNOWN_KEYS: Final = 5
"""401 responses in a row after which the documents are published again: they were deleted or changed."""

_FORGET_EVERY: Final = 64
"""Requests."""

_PAUSED_SECONDS: Final = 0.2
"""Between two looks whether a pause is over."""


class CanaryProducer:
    """Sends events, on the caller's event loop."""

    def __init__(  # noqa: PLR0913  # the world, piece by piece
        self,
        *,
        run: str,
        session: aiohttp.ClientSession,
        url: str,
        publisher: ConfigPublisher,
        documents: Sequence[Document],
        schedule: Schedule,
        pause: Pause,
        tracker: DeliveryTracker,
        metrics: CanaryMetrics,
        clock: Clock,
    ) -> None:
        """Ids begin with `run`; `session` carries the write key; `url` is collect's endpoint for events."""
        self._ids = (f"{run}-{number}" for number in itertools.count())
        self._session = session
        self._url = url
        self._publisher = publisher
        self._documents = documents
        self._schedule = schedule
        self._pause = pause
        self._tracker = tracker
        self._metrics = metrics
        self._clock = clock
        self._unknown = 0

        self.published = False
        """Whether the documents are published."""

        self.taken = False
        """Whether collect accepted the last request."""

    async def run(self, stopping: asyncio.Event) -> None:
        """Run until `stopping` is set."""
        await self._publish(stopping)
        for number in itertools.count():
            if stopping.is_set():
                return
            if self._pause.lasts(self._clock()):
                await _pause(stopping, _PAUSED_SECONDS)
                continue
            await self._turn()
            if self._unknown >= _UNKNOWN_KEYS:
                self._unknown = 0
                await self._publish(stopping)
            if number % _FORGET_EVERY == 0:
                self._tracker.forget(self._clock())
            await _pause(stopping, self._schedule.pause(taken=self.taken))

    async def _publish(self, stopping: asyncio.Event) -> None:
        for failures in itertools.count(1):
            if stopping.is_set():
                return
            try:
                await self._publisher.ensure(self._documents)
            except (TimeoutError, PublishError, KafkaException) as error:
                _log.warning(
                    "canary documents not published: Kafka unavailable; retrying", extra={"error": str(error)}
                )
                await _pause(stopping, pause_after(failures))
            else:
                self.published = True
                return

    async def _turn(self) -> None:
        if ids := list(itertools.islice(self._ids, self._schedule.events())):
            now_ms = self._clock()
            self._tracker.send(ids, now_ms)
            self._metrics.sent.inc(len(ids))
            self._note(ids, await self._post(request(ids, now_ms)))

    async def _post(self, body: bytes) -> str:
        """Collect's status, or the error."""
        try:
            async with self._session.post(
                self._url, data=body, headers={"Content-Type": CONTENT_TYPE}
            ) as reply:
                return str(reply.status)
        except (aiohttp.ClientError, TimeoutError) as error:
            return type(error).__name__

    def _note(self, ids: Ids, answer: str) -> None:
        before, self.taken = self.taken, answer == str(HTTPStatus.ACCEPTED.value)
        self._unknown = self._unknown + 1 if answer == str(HTTPStatus.UNAUTHORIZED.value) else 0
        if self.taken:
            self._tracker.acknowledge(ids, self._clock())
            self._metrics.acknowledged.inc(len(ids))
        if before != self.taken:
            text = "collect accepts events" if self.taken else "collect did not accept events; retrying"
            _log.info(text, extra={"answer": answer})


async def _pause(stopping: asyncio.Event, seconds: float) -> None:
    try:
        await asyncio.wait_for(stopping.wait(), seconds)
    except TimeoutError:
        return
