"""The circuit breaker of a destination, as an immutable value. Pure.

The states are Nygard's (Release It!, "Circuit Breaker"). Times are seconds of one monotonic clock.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from pipelines.data.transmit.connectors.base import Answer
from pipelines.data.transmit.retry_after import retry_after_seconds
from shared.contracts.http_statuses import RETRYABLE
from shared.contracts.receipts import Breaker as State


@dataclass(frozen=True, slots=True, kw_only=True)
class BreakerThresholds:
    """When a breaker opens, and for how long. In seconds unless the name says otherwise."""

    failures: int = 5
    """Failures in a row that open the breaker."""

    wasted: float = 5.0
    """Time spent on failures in a row that opens the breaker: timeouts weigh more than refusals."""

    pause: float = 5.0
    """How long it stays open at first; doubles each time the test request fails."""

    pause_limit: float = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Breaker:
    """The breaker of one destination."""

    state: State = "closed"
    failures: int = 0
    wasted: float = 0.0
    until: float = 0.0
    """If open: when it becomes half open."""

    pause: float = 0.0
    """If open or half open: how long it was opened for."""


CLOSED: Final = Breaker()


def looked_at(breaker: Breaker, now: float) -> Breaker:
    """The breaker at a later time: an open one becomes half open when its pause is over."""
    if breaker.state == "open" and now >= breaker.until:
        return replace(breaker, state="half_open")
    return breaker


def after_failure(
    breaker: Breaker, seconds: float, asked: float, now: float, rules: BreakerThresholds
) -> Breaker:
    """The breaker after a request that failed.

    Args:
        breaker: before the request.
        seconds: how long the request took.
        asked: seconds of the destination's Retry-After, 0 if it sent none.
        now: when the request ended.
        rules: when to open.
    """
    if breaker.state == "open":  # the request had begun before it opened
        return breaker
    if breaker.state == "half_open":
        return _opened(2 * breaker.pause, asked, now, rules)
    failures, wasted = breaker.failures + 1, breaker.wasted + seconds
    if failures >= rules.failures or wasted >= rules.wasted:
        return _opened(rules.pause, asked, now, rules)
    return Breaker(failures=failures, wasted=wasted)


def _opened(pause: float, asked: float, now: float, rules: BreakerThresholds) -> Breaker:
    usual = min(pause, rules.pause_limit)
    return Breaker(state="open", until=now + max(usual, min(asked, rules.pause_limit)), pause=usual)


def is_young(breaker: Breaker, rules: BreakerThresholds) -> bool:
    """Whether a breaker that is not closed opened recently, so that its pauses still grow."""
    return breaker.pause < rules.pause_limit


def has_failed(answers: Sequence[Answer]) -> bool | None:
    """Whether a request shows that the destination cannot accept events now; None if it shows neither.

    Refusing these events is not a failure of the destination, nor is accepting only some of them, nor that
    it had too little time.
    """
    if all(answer.hopeless or answer.later or answer.cut_short for answer in answers):
        return None
    return all(answer.status is None or _failed(answer.status) for answer in answers)


def _failed(status: int) -> bool:
    return status >= 500 or status in RETRYABLE


def asked_for(answers: Sequence[Answer], now_ms: int) -> float:
    """The longest Retry-After among answers, seconds; 0 if there is none."""
    distinct = {answer.retry_after for answer in answers if answer.retry_after is not None}
    return max((retry_after_seconds(text, now_ms) or 0.0 for text in distinct), default=0.0)
