"""More events than `limits.rate` lets pass at once all arrive, in about the time that the rate needs."""

from collections import deque
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final

import pytest

from pipelines.data.retry.decide import DelayedRecord, OutputRecord
from pipelines.data.retry.delay_queue import DelayQueue
from pipelines.data.transmit.admission.gate import NoTurn
from pipelines.data.transmit.admission.rate_limit import RateLimit
from pipelines.data.transmit.delivery.decide import Dead, Policy, RetryLater
from pipelines.data.transmit.delivery.outcomes import TryContext, outcomes, refused
from pipelines.data.transmit.delivery.pipe_resolver import ResolvedPipe
from pipelines.data.transmit.delivery.request_batch import RequestBatch, grouped
from pipelines.data.transmit.events import Event
from shared.contracts.documents import Batch, Destination, Pipe
from shared.contracts.topics import RETRY_DELAYS, Topic
from tests.unit.pipelines.data.transmit.transmit_events import event

POLICY: Final = Policy(local_tries=3, pause=0.05, pause_limit=1.0, give_up=timedelta(hours=24))
START_MS: Final = 1_800_000_000_000
DEADLINE: Final = 10.0
REQUEST: Final = 50
MICRO_BATCH: Final = 500
SPREAD: Final = 0.5
TARGET: Final = ResolvedPipe(
    Pipe(name="p1", tenant="t", source="s", destination="d"),
    Destination(name="d", tenant="t"),
    None,
    None,
    Batch(max_events=REQUEST),
)


@dataclass(kw_only=True)
class Waiting:
    """The retry topics. One event stands for each record of it."""

    queues: dict[Topic, DelayQueue] = field(
        default_factory=lambda: {topic: DelayQueue(topic, SPREAD) for topic in RETRY_DELAYS}
    )
    held: dict[Topic, deque[tuple[int, Event]]] = field(
        default_factory=lambda: {topic: deque() for topic in RETRY_DELAYS}
    )
    added: int = 0
    """Records so far."""

    def add(self, outcome: RetryLater, events: list[Event]) -> None:
        self.added += len(events)
        for one in events:
            due = DelayedRecord(0, outcome.not_before_ms, OutputRecord(outcome.topic, None, None, []), 1)
            self.queues[outcome.topic].add(due)
            one.attempt = outcome.attempts + 1
            self.held[outcome.topic].append((outcome.not_before_ms, one))

    def leave(self, now_ms: int) -> list[Event]:
        """The events that retry writes in one of its intervals."""
        left: list[Event] = []
        for topic, queue in self.queues.items():
            due = len(queue.due(now_ms, len(queue)))
            queue.remove_first(due)
            left += [self.held[topic].popleft()[1] for _ in range(due)]
        return left


@dataclass(kw_only=True)
class SlowLane:
    """The slow lane with one destination, which answers at once; its clock is the simulation's."""

    limit: RateLimit
    coming: deque[Event]
    waiting: Waiting = field(default_factory=Waiting)
    delivered: list[Event] = field(default_factory=list)
    dead: int = 0
    now: float = 0.0
    last: float = 0.0
    """When the last request went out."""

    def micro_batch(self) -> None:
        taken = [self.coming.popleft() for _ in range(min(MICRO_BATCH, len(self.coming)))]
        began = self.now
        for of, events in grouped(taken).items():
            for at in range(0, len(events), REQUEST):
                some = events[at : at + REQUEST]
                whole = RequestBatch(resolved=TARGET, attempt=of.attempt, events=some, started_ms=START_MS)
                self.request(whole)
        self.now = max(began + 1.0, min(self.last, began + DEADLINE))
        self.coming.extend(self.waiting.leave(START_MS + int(1000 * self.now)))

    def request(self, batch: RequestBatch) -> None:
        wait = self.limit.wait(self.now)
        if wait <= DEADLINE:
            self.limit = self.limit.after(len(batch.events), self.now)
            self.last = self.now + wait
            self.delivered += batch.events
            return
        self.limit, seconds = self.limit.booked(len(batch.events), self.now)
        at = TryContext(now_ms=START_MS + int(1000 * self.now), seconds_left=0.0, closed=True)
        for ended in outcomes(batch, refused(batch, NoTurn(seconds)), at, POLICY, 0.5).ended:
            if isinstance(ended.outcome, RetryLater):
                self.waiting.add(ended.outcome, list(ended.events))
            else:
                assert isinstance(ended.outcome, Dead)
                self.dead += len(ended.events)


@pytest.mark.parametrize(("count", "rate"), [(6_000, 1.0), (6_000, 10.0)])
def test_a_burst_above_the_rate_arrives_in_about_the_time_that_it_needs(count: int, rate: float) -> None:
    lane = SlowLane(limit=RateLimit.of(rate), coming=deque(event(n) for n in range(count)))
    needed = count / rate
    while len(lane.delivered) + lane.dead < count and lane.now < 2 * needed + 60:
        lane.micro_batch()
    assert (len(lane.delivered), lane.dead) == (count, 0)
    assert lane.last <= 1.05 * needed + 60, "the destination was idle while events waited"
    assert {one.attempt for one in lane.delivered} == {1}, "none was tried before"
    assert lane.waiting.added <= 2 * count, "they come back one after the other, not all for each request"
