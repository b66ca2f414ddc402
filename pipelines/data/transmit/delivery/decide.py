"""What becomes of an event after a try: one pure function of the answer and the situation."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from pipelines.data.transmit.connectors.base import Answer
from pipelines.data.transmit.retry_after import retry_after_seconds
from shared.contracts.http_statuses import RETRYABLE
from shared.contracts.topics import RETRY_DELAYS, Topic

_DELAYS: Final = tuple(RETRY_DELAYS.items())
_LONGEST: Final = _DELAYS[-1][1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """How long to go on trying. Seconds unless the name says otherwise."""

    local_tries: int
    pause: float
    """Before the second local try; four times as long before each further one."""

    pause_limit: float
    give_up: timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """Where an event stands when an answer, or none, came in."""

    events: int
    """Events that shared the request."""

    tries: int
    """Local tries so far, this one included."""

    attempt: int
    """Global attempt, from 1."""

    first_try_ms: int
    now_ms: int
    seconds_left: float
    """Until the micro-batch's deadline, or until others have waited long enough."""

    closed: bool = True
    """Whether the destination's breaker is."""

    counted: bool = True
    """Whether this attempt is one; not where a breaker that has just opened kept it from being made."""


@dataclass(frozen=True, slots=True)
class Delivered:
    """It arrived."""


@dataclass(frozen=True, slots=True)
class RetryNow:
    """Try again in this micro-batch, after a pause."""

    pause: float


@dataclass(frozen=True, slots=True)
class Split:
    """Too large together: try again in halves, now."""


@dataclass(frozen=True, slots=True)
class RetryLater:
    """Leave it to the retry topics."""

    topic: Topic
    not_before_ms: int
    attempts: int
    """Made so far, over all rounds."""

    reason: str


@dataclass(frozen=True, slots=True)
class Dead:
    """No further try will help."""

    reason: str


@dataclass(frozen=True, slots=True)
class Duplicate:
    """It arrived before: nothing is to be done."""


@dataclass(frozen=True, slots=True)
class SlowLane:
    """Left to the query that has time for its destination."""


End = Delivered | RetryLater | Dead | Duplicate | SlowLane
"""What settles an event."""

Outcome = Delivered | RetryLater | Dead | RetryNow | Split
"""What a try can come to."""


def decide(answer: Answer, at: Situation, policy: Policy, jitter: float) -> Outcome:
    """The outcome of one try for one event.

    Args:
        answer: what the destination said, or what went wrong.
        at: where the event stands.
        policy: how long to go on.
        jitter: uniform in [0, 1); one draw for a request, so that its events stay together.
    """
    status = answer.status
    if status is not None and 200 <= status < 300:
        return Delivered()
    if status == 413 and at.events > 1:
        return Split()
    if answer.hopeless or _is_final(status):
        return Dead(answer.describe())
    asked = retry_after_seconds(answer.retry_after, at.now_ms)
    pause = max(policy.pause * 4 ** (at.tries - 1) * (0.5 + jitter / 2), asked or 0.0)
    if not answer.later and _again_now(status, asked, pause, at, policy):
        return RetryNow(pause)
    return _later(answer, asked, at, policy)


def _is_final(status: int | None) -> bool:
    """Redirects are never followed; a client error is the same the next time."""
    return status is not None and 300 <= status < 500 and status not in RETRYABLE


def _again_now(status: int | None, asked: float | None, pause: float, at: Situation, policy: Policy) -> bool:
    unasked_limit = status == 429 and asked is None  # hammering a rate limiter only prolongs it
    in_time = pause <= policy.pause_limit and pause < at.seconds_left
    return at.closed and at.tries < policy.local_tries and in_time and not unasked_limit


def _later(answer: Answer, asked: float | None, at: Situation, policy: Policy) -> RetryLater | Dead:
    """30 s, 5 m, then hourly; the destination may ask for more, up to the longest of them.

    What was not tried waits for the shortest: nothing is known yet that asks for more.
    """
    usual = _DELAYS[min(at.attempt, len(_DELAYS)) - 1 if at.counted else 0][1]
    delay = max(usual, min(timedelta(seconds=asked or 0.0), _LONGEST))
    topic = next(topic for topic, held in _DELAYS if held >= delay)
    not_before_ms = at.now_ms + delay // timedelta(milliseconds=1)
    if not_before_ms - at.first_try_ms > policy.give_up // timedelta(milliseconds=1):
        hours = policy.give_up.total_seconds() / 3600
        return Dead(f"time_over: not delivered within {hours:g} h; at last {answer.describe()}")
    attempts = at.attempt if at.counted else at.attempt - 1
    return RetryLater(topic, not_before_ms, attempts, answer.describe())
