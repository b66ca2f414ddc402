"""Makes spans of time of what was seen again and again. Pure.

The end of a span, while it is kept here, is when it was last seen.
"""

import re
from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from shared.contracts.diamond.activities import Activity
from shared.contracts.diamond.stability import Stability
from shared.contracts.timeline import ActivitySpan, Health, HealthSpan

GAP_MS: Final = 20_000
"""A longer gap ends a span: nothing is known of the time between."""

Span = HealthSpan | ActivitySpan
MOST_REASONS: Final = 10
"""Most reasons kept of a span, the newest ones."""

_FIGURE: Final = re.compile(r"(?<![\w-])[\d.,]*\d(?![\w-])")
"""A number by itself: not one in a name, such as that of a pipe."""


def health_of(found: Stability) -> Health:
    """An answer about stability in one word: unknown, stable or unstable."""
    if found.silent:
        return Health.UNKNOWN
    return Health.STABLE if found.stable else Health.UNSTABLE


def health_span(last: HealthSpan | None, found: Stability, at_ms: int) -> HealthSpan:
    """The last span as it goes on, or the one that follows it."""
    health, reasons = health_of(found), tuple(found.reasons)
    near = last is not None and at_ms - seen_ms(last) <= GAP_MS
    if last is not None and near and last.health is health:
        return replace(last, reasons=_merged(last.reasons, reasons), until_ms=at_ms)
    begun = seen_ms(last) if last is not None and near else at_ms
    return HealthSpan(health=health, reasons=_merged((), reasons), from_ms=begun, until_ms=at_ms)


def activity_span(last: ActivitySpan | None, found: Activity, at_ms: int) -> ActivitySpan:
    """The last span of an activity as it goes on, or its next one: it is in another phase."""
    if last is not None and (last.action, last.phase) == (found.action, found.phase):
        return replace(last, until_ms=at_ms)
    begun = min(found.since_ms, at_ms) if last is None else seen_ms(last)
    return ActivitySpan(
        id=found.id,
        actor=found.actor,
        action=found.action,
        reason=found.reason,
        phase=found.phase,
        from_ms=begun,
        until_ms=at_ms,
    )


def overlap(span: Span, first_ms: int, last_ms: int) -> bool:
    """Whether a span and a time have a moment in common; `last_ms` is not of it."""
    return span.from_ms < last_ms and seen_ms(span) >= first_ms


def seen_ms(span: Span) -> int:
    """When a span that is kept here was last seen, epoch milliseconds."""
    assert span.until_ms is not None
    return span.until_ms


def _merged(before: Sequence[str], now: Sequence[str]) -> tuple[str, ...]:
    """Reasons of both, once each but for figures, as they were said last, and in the order of that."""
    found: dict[str, str] = {}
    for each in (*before, *now):
        alike = _FIGURE.sub("0", each)
        found.pop(alike, None)
        found[alike] = each
    return tuple(found.values())[-MOST_REASONS:]
