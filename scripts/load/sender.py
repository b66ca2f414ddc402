"""Sends events to collect at a rate, and records exactly which were acknowledged."""

import asyncio
import random
import time
from collections import Counter
from collections.abc import Callable, Sequence

import aiohttp
from msgspec import Struct

from scripts.load.event_source import EventBatch, EventSource
from scripts.load.lags import LagCounts, LagSnapshot
from scripts.load.replies import Answer, Disposition, read_answer
from scripts.load.schedule import Schedule
from shared.runtime.clock import Clock, wall_clock

PATH = "/v1/events"
CONNECTIONS = 64
PATIENCE_SECONDS = 120.0
_ANSWER_SECONDS = 30.0  # collect answers 503 after 10 s without its brokers
_FIRST_BACKOFF_SECONDS = 0.05
_MAX_BACKOFF_SECONDS = 2.0
_NAP_SECONDS = 0.2
_EMPTY_SECONDS = 0.02

OnAcked = Callable[[Sequence[str], int, int], None]
"""Called with ids, the request's first send time and its acknowledgement time, epoch milliseconds."""


def ignore_acked(_: Sequence[str], __: int, ___: int) -> None:
    """Ignore acknowledged ids, for callers that only need the counts."""


class SendCounts(Struct):
    """Events so far, by outcome."""

    sent: int = 0
    """Events in requests that were started."""

    acked: int = 0
    refused: int = 0
    unacknowledged: int = 0
    """Given up or never answered; they may or may not arrive."""

    requests: int = 0
    """Repeated requests included."""

    hopeless: str = ""
    """Why the sender stopped early."""


class Sender:
    """Sends one load. A request is repeated until it is settled or `patience` seconds are over.

    The time stamped on events is when they are *due*: if they then wait in the sender because responses are
    slow, that wait is part of their lag (no coordinated omission).
    """

    def __init__(  # noqa: PLR0913 four facts of the load, the rest has defaults
        self,
        url: str,
        key: str,
        source: EventSource,
        schedule: Schedule,
        *,
        connections: int = CONNECTIONS,
        patience: float = PATIENCE_SECONDS,
        on_acked: OnAcked = ignore_acked,
        clock: Clock = wall_clock,
    ) -> None:
        """Prepare.

        Args:
            url: base URL of collect.
            key: write key.
            source: the events.
            schedule: when they are due.
            connections: requests in flight at most.
            patience: seconds for which a request is repeated.
            on_acked: see `OnAcked`.
            clock: epoch milliseconds.
        """
        self.counts = SendCounts()
        self.refusals: Counter[str] = Counter()
        """Reasons of refused events."""

        self.retries: Counter[str] = Counter()
        """Reasons of repeated requests."""

        self.answer_times = LagCounts()
        """Times from the first try to the acknowledgement, by request."""

        self.behind = LagCounts()
        """How much later than due requests were started. Large values: the rate was not reached."""

        self._url = url.rstrip("/") + PATH
        self._headers = {"Authorization": f"Bearer {key}", "Content-Type": source.content_type}
        self._source = source
        self._schedule = schedule
        self._connections = connections
        self._patience = patience
        self._on_acked = on_acked
        self._clock = clock
        self._turn = 0
        self._begin = 0.0
        self._begin_ms = 0
        self._turns = asyncio.Lock()
        self._over = False
        self.source_ended = False
        """Whether all events were taken."""

    @property
    def schedule_rate(self) -> float | None:
        """Requested events per second."""
        return self._schedule.rate

    def stop(self) -> None:
        """Start no further request; those in flight are completed."""
        self._over = True

    async def run(self) -> SendCounts:
        """Send everything. Cancelling it leaves the counts right."""
        self._begin, self._begin_ms = time.monotonic(), self._clock()
        connector = aiohttp.TCPConnector(limit=self._connections)
        timeout = aiohttp.ClientTimeout(total=_ANSWER_SECONDS)
        async with (
            aiohttp.ClientSession(connector=connector, timeout=timeout, headers=self._headers) as session,
            asyncio.TaskGroup() as workers,
        ):
            for _ in range(self._connections):
                workers.create_task(self._work(session))
        return self.counts

    async def _work(self, session: aiohttp.ClientSession) -> None:
        while True:
            async with self._turns:  # only one worker at a time waits for the schedule
                bundle = await self._next()
            if bundle is None:
                return
            try:
                await self._settle(session, bundle)
            except asyncio.CancelledError:
                self.counts.unacknowledged += bundle.count
                raise

    async def _next(self) -> EventBatch | None:
        due = self._schedule.due(self._turn)
        while not self._over:
            elapsed = time.monotonic() - self._begin
            if self._schedule.over(self._turn, elapsed):
                break
            if elapsed < due:
                await asyncio.sleep(min(due - elapsed, _NAP_SECONDS))
                continue
            moment = elapsed if self._schedule.rate is None else due
            bundle = self._source.take(self._schedule.batch, self._begin_ms + round(moment * 1000))
            if bundle is None:
                self.source_ended = True
                break
            if bundle.count:
                return self._begun(bundle, elapsed - moment)
            await asyncio.sleep(_EMPTY_SECONDS)
        self._over = True
        return None

    def _begun(self, bundle: EventBatch, late: float) -> EventBatch:
        self._turn += 1
        self.counts.sent += bundle.count
        self.behind.add((round(late * 1000),))
        return bundle

    async def _settle(self, session: aiohttp.ClientSession, bundle: EventBatch) -> None:
        sent_ms = self._clock()
        give_up, backoff = time.monotonic() + self._patience, _FIRST_BACKOFF_SECONDS
        while True:
            answer = await self._try(session, bundle)
            if answer.disposition is not Disposition.AGAIN:
                return self._book(bundle, answer, sent_ms)
            self.retries[answer.reason] += 1
            wait = backoff if answer.wait_seconds is None else answer.wait_seconds
            wait *= random.uniform(1, 1.5)
            if time.monotonic() + wait > give_up:
                self.counts.unacknowledged += bundle.count
                return None
            await asyncio.sleep(wait)
            backoff = min(2 * backoff, _MAX_BACKOFF_SECONDS)

    async def _try(self, session: aiohttp.ClientSession, bundle: EventBatch) -> Answer:
        self.counts.requests += 1
        try:
            async with session.post(self._url, data=bundle.body, allow_redirects=False) as response:
                body = await response.read()
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            return Answer(disposition=Disposition.AGAIN, reason=type(error).__name__)
        return read_answer(response.status, body, response.headers, bundle.ids)

    def _book(self, bundle: EventBatch, answer: Answer, sent_ms: int) -> None:
        if answer.disposition is Disposition.HOPELESS:
            self.counts.hopeless = answer.reason
            self.counts.unacknowledged += bundle.count
            self._over = True
            return
        self.counts.refused += bundle.count - len(answer.accepted)
        self.refusals.update(answer.refused)
        if answer.accepted:
            self.counts.acked += len(answer.accepted)
            acked_ms = self._clock()
            self.answer_times.add((acked_ms - sent_ms,))
            self._on_acked(answer.accepted, sent_ms, acked_ms)


class SendSummary(Struct, frozen=True, kw_only=True):
    """A finished load."""

    counts: SendCounts
    refusals: dict[str, int]
    retries: dict[str, int]
    answer_ms: LagSnapshot
    behind_ms: LagSnapshot


def summary(sender: Sender) -> SendSummary:
    """Figures of a sender so far."""
    return SendSummary(
        counts=sender.counts,
        refusals=dict(sender.refusals),
        retries=dict(sender.retries),
        answer_ms=sender.answer_times.snapshot(),
        behind_ms=sender.behind.snapshot(),
    )
