"""Decides the outcome of a try: a pure function of the answer, the situation and the policy."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from pipelines.data.transmit.connectors.base import Answer
from pipelines.data.transmit.retry_after import retry_after_seconds
from shared.contracts.http_statuses import RETRYABLE
from shared.contracts.reasons import INTERNAL, TIME_OVER
from shared.contracts.receipts import Lane
from shared.contracts.topics import RETRY_DELAYS, Topic

_DELAYS: Final = tuple(RETRY_DELAYS.items())
_LONGEST: Final = _DELAYS[-1][1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """How long to retry. In seconds unless the name says otherwise."""

    local_tries: int
    pause: float
    """Pause before the second local try; four times as long before each further one."""

    pause_limit: float
    give_up: timedelta
    lane: Lane = "slow"
    """The lane of this process. The fast one leaves to the slow one what its own time is too short for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """The state of an event when its try has ended."""

    events: int
    """Events in the request."""

    tries: int
    """Local tries so far, including this one."""

    attempt: int
    """Global attempt, from 1."""

    first_try_ms: int
    now_ms: int
    seconds_left: float
    """Time left for local retries: until the deadline or the lane's limit."""

    closed: bool = True
    """Whether the destination's circuit breaker is closed."""

    counted: bool = True
    """Whether this counts as an attempt; not if nothing was sent for lack of a turn or of time, or because of
    a breaker that has just opened."""

    def counts(self, answer: Answer) -> bool:
        """Whether this counts as an attempt with that answer; not if the only try was cut short."""
        return self.counted and (self.tries > 1 or not answer.cut_short)


@dataclass(frozen=True, slots=True)
class Delivered:
    """The destination has accepted it."""


@dataclass(frozen=True, slots=True)
class RetryNow:
    """Retry in this micro-batch, after a pause."""

    pause: float


@dataclass(frozen=True, slots=True)
class Split:
    """The request was too large: retry in halves, now."""


@dataclass(frozen=True, slots=True)
class RetryLater:
    """Retry later, through a retry topic."""

    topic: Topic
    not_before_ms: int
    attempts: int
    """Attempts so far, over all rounds."""

    reason: str


@dataclass(frozen=True, slots=True)
class Dead:
    """Dead letter: no retry will help."""

    reason: str


@dataclass(frozen=True, slots=True)
class Duplicate:
    """It was delivered before: nothing to do."""


@dataclass(frozen=True, slots=True)
class SlowLane:
    """Passed on to the slow lane."""

    not_before_ms: int | None = None
    """When the slow lane may send it; None is at once."""


End = Delivered | RetryLater | Dead | Duplicate | SlowLane
"""Outcomes that settle an event."""

Outcome = Delivered | RetryLater | Dead | RetryNow | Split | SlowLane
"""Possible outcomes of a try."""


def decide(answer: Answer, at: Situation, policy: Policy, jitter: float) -> Outcome:
    """The outcome of one try for one event.

    Args:
        answer: the destination's answer, or the error.
        at: the state of the event.
        policy: how long to retry.
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
    if not answer.later and _again_soon(status, asked, pause, at, policy):
        if pause < at.seconds_left:
            return RetryNow(pause)
        if asked is not None and policy.lane == "fast":
            return SlowLane(at.now_ms + int(1000 * pause))
    return _later(answer, asked, at, policy)


def _is_final(status: int | None) -> bool:
    """Whether a retry would give the same: redirects, which are not followed, and most client errors."""
    return status is not None and 300 <= status < 500 and status not in RETRYABLE


def _again_soon(status: int | None, asked: float | None, pause: float, at: Situation, policy: Policy) -> bool:
    """Whether to retry after the pause, in this lane or the other."""
    unasked_limit = status == 429 and asked is None  # hammering a rate limiter only prolongs it
    is_short = pause <= policy.pause_limit
    return at.closed and at.tries < policy.local_tries and is_short and not unasked_limit


def _later(answer: Answer, asked: float | None, at: Situation, policy: Policy) -> RetryLater | Dead:
    """Retry after 30 s, 5 minutes, then hourly; Retry-After may lengthen the delay, up to the longest one.

    An event whose try does not count gets the shortest delay.
    """
    counted = at.counts(answer)
    usual = _DELAYS[min(at.attempt, len(_DELAYS)) - 1 if counted else 0][1]
    delay = max(usual, min(timedelta(seconds=asked or 0.0), _LONGEST))
    topic = next(topic for topic, held in _DELAYS if held >= delay)
    not_before_ms = at.now_ms + delay // timedelta(milliseconds=1)
    if not_before_ms - at.first_try_ms > policy.give_up // timedelta(milliseconds=1):
        return Dead(_given_up(answer.describe(), policy))
    attempts = at.attempt if counted else at.attempt - 1
    return RetryLater(topic, not_before_ms, attempts, answer.describe())


def _given_up(reason: str, policy: Policy) -> str:
    """The reason of an event whose time is over; its word charges what hifi caused to hifi."""
    word = INTERNAL if reason.startswith(f"{INTERNAL}:") else TIME_OVER
    hours = policy.give_up.total_seconds() / 3600
    return f"{word}: not delivered within {hours:g} h; last answer: {reason}"
