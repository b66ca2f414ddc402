"""A circuit breaker as a value: what the last requests to a destination say about the next one. Pure.

The states are Nygard's (Release It!, "Circuit Breaker"). Times are seconds of one clock that never goes back.
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
    """When it opens, and for how long. Seconds unless the name says otherwise."""

    failures: int = 5
    """In a row."""

    wasted: float = 5.0
    """Spent on requests that failed, without one that did not: a time-out weighs more than a refusal."""

    pause: float = 5.0
    """Open at first; twice as long after each failure of the one request that is let through then."""

    pause_limit: float = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Breaker:
    """Of one destination."""

    state: State = "closed"
    failures: int = 0
    wasted: float = 0.0
    until: float = 0.0
    """Open: when it is half open."""

    pause: float = 0.0
    """Open or half open: how long it was opened for."""


CLOSED: Final = Breaker()


def looked_at(breaker: Breaker, now: float) -> Breaker:
    """The breaker at a later moment: an open one is half open when its pause is over."""
    if breaker.state == "open" and now >= breaker.until:
        return replace(breaker, state="half_open")
    return breaker


def after_failure(
    breaker: Breaker, seconds: float, asked: float, now: float, rules: BreakerThresholds
) -> Breaker:
    """The breaker after a request that failed.

    Args:
        breaker: before it.
        seconds: that the request took.
        asked: seconds for which the destination asked to be left alone, 0 if it did not.
        now: when it ended.
        rules: when to open.
    """
    if breaker.state == "open":  # it was under way before
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
    """Whether a breaker that is not closed has opened a while ago only: its pauses still grow."""
    return breaker.pause < rules.pause_limit


def has_failed(answers: Sequence[Answer]) -> bool | None:
    """Whether a request says that the destination cannot take events now; None if it says nothing about it.

    A refusal of these events is no failure: the destination is there. Nor is it one where some arrived.
    """
    if all(answer.hopeless or answer.later for answer in answers):
        return None
    return all(answer.status is None or _failed(answer.status) for answer in answers)


def _failed(status: int) -> bool:
    return status >= 500 or status in RETRYABLE


def asked_for(answers: Sequence[Answer], now_ms: int) -> float:
    """The longest Retry-After among answers, seconds; 0 if there is none."""
    distinct = {answer.retry_after for answer in answers if answer.retry_after is not None}
    return max((retry_after_seconds(text, now_ms) or 0.0 for text in distinct), default=0.0)
