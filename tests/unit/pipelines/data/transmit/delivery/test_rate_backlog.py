"""Events beyond `limits.rate` all arrive, in about the time that the rate needs."""

from collections import deque
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final

import pytest

from pipelines.data.transmit.admission.gate import NoTurn
from pipelines.data.transmit.admission.rate_limit import RateLimit
from pipelines.data.transmit.delivery.decide import Dead, Policy, RetryLater
from pipelines.data.transmit.delivery.outcomes import TryContext, outcomes, refused
from pipelines.data.transmit.delivery.pipe_resolver import ResolvedPipe
from pipelines.data.transmit.delivery.request_batch import RequestBatch, grouped
from pipelines.data.transmit.events import Event
from shared.contracts.documents import Batch, Destination, Pipe
from tests.unit.pipelines.data.transmit.retry_topics import RetryTopics
from tests.unit.pipelines.data.transmit.transmit_events import event

POLICY: Final = Policy(local_tries=3, pause=0.05, pause_limit=1.0, give_up=timedelta(hours=24))
START_MS: Final = 1_800_000_000_000
TURN: Final = 2.0
"""How long requests wait for the rate in a micro-batch of the slow lane."""

REQUEST: Final = 50
MICRO_BATCH: Final = 500
TARGET: Final = ResolvedPipe(
    Pipe(name="p1", tenant="t", source="s", destination="d"),
    Destination(name="d", tenant="t"),
    None,
    None,
    Batch(max_events=REQUEST),
)


@dataclass(kw_only=True)
class SlowLane:
    """The slow lane with one destination that answers at once, on the simulation's clock."""

    limit: RateLimit
    coming: deque[Event]
    waiting: RetryTopics = field(default_factory=RetryTopics)
    delivered: list[Event] = field(default_factory=list)
    dead: int = 0
    now: float = 0.0
    last: float = 0.0
    """Time of the last request."""

    def micro_batch(self) -> None:
        taken = [self.coming.popleft() for _ in range(min(MICRO_BATCH, len(self.coming)))]
        began = self.now
        for of, events in grouped(taken).items():
            for at in range(0, len(events), REQUEST):
                some = events[at : at + REQUEST]
                whole = RequestBatch(resolved=TARGET, attempt=of.attempt, events=some, started_ms=START_MS)
                self.request(whole)
        self.now = max(began + 1.0, min(self.last, began + TURN))
        self.coming.extend(self.waiting.leave(START_MS + int(1000 * self.now)))

    def request(self, batch: RequestBatch) -> None:
        wait = self.limit.wait(self.now)
        if wait <= TURN:
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
