"""The outcomes of one try of a request batch, for each of its events. Pure."""

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

from pipelines.data.transmit.admission.gate import BreakerOpen, Moved, NoTurn, Refusal
from pipelines.data.transmit.connectors.base import Answer
from pipelines.data.transmit.delivery.decide import (
    End,
    Outcome,
    Policy,
    RetryNow,
    Situation,
    SlowLane,
    Split,
    decide,
)
from pipelines.data.transmit.delivery.request_batch import RequestBatch, halves
from pipelines.data.transmit.events import Event


@dataclass(frozen=True, slots=True)
class Answered:
    """The connector answered for each event."""

    answers: Sequence[Answer]


@dataclass(frozen=True, slots=True)
class Failed:
    """The request was not sent or failed as a whole: its events go to the retry topics."""

    reason: str
    counted: bool = True
    """See `decide.Situation`."""

    seconds: float = 0.0
    """Seconds that they should wait at least."""


Try = Answered | Failed | Moved
"""The result of one try."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TryContext:
    """The circumstances in which a try ended."""

    now_ms: int
    seconds_left: float
    """Time left for local retries."""

    closed: bool
    """Whether the destination's circuit breaker is closed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """Events with the same final outcome, and the destination's status."""

    events: Sequence[Event]
    outcome: End
    status: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcomes:
    """The outcomes of a batch: each event is in exactly one of these."""

    ended: Sequence[Ended] = ()
    again: Sequence[Event] = ()
    """Events to retry together, after the pause."""

    pause: float = 0.0
    parts: Sequence[Sequence[Event]] = ()
    """Groups of events to retry separately, now."""


def refused(batch: RequestBatch, refusal: Refusal) -> Failed | Moved:
    """The result of a try that was refused its turn."""
    name = batch.destination.name
    match refusal:
        case Moved():
            return refusal
        case BreakerOpen():
            # If it was tried in this task, it failed. If not, a short outage must not cost a long wait.
            counted = batch.tries > 0 or not refusal.young
            return Failed(f"breaker_open: {name!r} is {refusal}", counted)
        case NoTurn():
            reason = f"deadline: no turn for {name!r} in this micro-batch"
            return Failed(reason, counted=batch.tries > 0, seconds=refusal.seconds)


def outcomes(batch: RequestBatch, tried: Try, at: TryContext, policy: Policy, jitter: float) -> Outcomes:
    """Decide for each event of a batch.

    Args:
        batch: the batch that was tried.
        tried: the result of the try.
        at: the circumstances in which it ended.
        policy: how long to retry.
        jitter: uniform in [0, 1); one draw for a batch, so that its events stay together.
    """
    match tried:
        case Moved():
            return Outcomes(ended=[Ended(events=batch.events, outcome=SlowLane())] if batch.events else [])
        case Failed():
            asked = str(math.ceil(tried.seconds)) if tried.seconds else None
            answer = Answer(error=tried.reason, retry_after=asked)
            situation = _situation(batch, at, counted=tried.counted, seconds_left=0.0)
            return _outcomes(batch.events, [answer] * len(batch.events), situation, policy, jitter)
        case Answered():
            situation = _situation(batch, at, counted=True, seconds_left=at.seconds_left)
            return _outcomes(batch.events, tried.answers, situation, policy, jitter)


def postponed(events: Sequence[Event], reason: str, at: Situation, policy: Policy) -> Sequence[Ended]:
    """The outcomes of events that wait without a try, since it is not known where to send them."""
    answer = Answer(error=reason, later=True)
    return _outcomes(events, [answer] * len(events), at, policy, jitter=0.0).ended


def _situation(batch: RequestBatch, at: TryContext, *, counted: bool, seconds_left: float) -> Situation:
    return Situation(
        events=len(batch.events),
        tries=batch.tries,
        attempt=batch.attempt,
        first_try_ms=batch.started_ms,
        now_ms=at.now_ms,
        seconds_left=seconds_left,
        closed=at.closed,
        counted=counted,
    )


def _outcomes(
    tried: Sequence[Event], answers: Sequence[Answer], at: Situation, policy: Policy, jitter: float
) -> Outcomes:
    ended: list[Ended] = []
    again: list[Event] = []
    parts: list[Sequence[Event]] = []
    pause = 0.0
    for (answer, outcome), events in _groups(tried, answers, at, policy, jitter).items():
        match outcome:
            case RetryNow():
                again += events
                pause = max(pause, outcome.pause)
            case Split():
                parts += halves(events) if len(events) > 1 else [events]
            case _:
                ended.append(Ended(events=events, outcome=outcome, status=answer.status))
    return Outcomes(ended=ended, again=again, pause=pause, parts=parts)


def _groups(
    tried: Sequence[Event], answers: Sequence[Answer], at: Situation, policy: Policy, jitter: float
) -> dict[tuple[Answer, Outcome], list[Event]]:
    """Events by answer and outcome; decided once for all events with the same answer and first try."""
    groups: dict[tuple[Answer, Outcome], list[Event]] = defaultdict(list)
    memo: dict[tuple[Answer, int], Outcome] = {}
    for event, answer in zip(tried, answers, strict=True):
        first_ms = at.first_try_ms if event.first_try_ms is None else event.first_try_ms
        outcome = memo.get((answer, first_ms))
        if outcome is None:
            outcome = decide(answer, replace(at, first_try_ms=first_ms), policy, jitter)
            memo[answer, first_ms] = outcome
        groups[answer, outcome].append(event)
    return groups
