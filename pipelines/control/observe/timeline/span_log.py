"""The spans of the last day, as samples come in. Belongs to one thread at a time."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from pipelines.control.observe.timeline.spans import (
    GAP_MS,
    Span,
    activity_span,
    health_span,
    overlap,
    seen_ms,
)
from shared.contracts.diamond.activities import Activity
from shared.contracts.diamond.stability import Stability
from shared.contracts.timeline import ActivitySpan, HealthSpan, Timeline

T = TypeVar("T", HealthSpan, ActivitySpan)
KEPT_MS: Final = 24 * 3_600_000
MOST: Final = 2_000
"""Spans of each kind that are kept at most, the newest."""

Key = tuple[int, str, str]
"""Beginning, activity (empty of health), and what it was: its health, or its action and phase.

So spans that begin in the same millisecond have keys of their own: a span that was seen once, and the next.
"""


class Taken(Struct, frozen=True):
    """The effect of a sample: the spans that it began or continued."""

    spans: Mapping[Key, Span]
    news: bool
    """Whether anything began or ended: more than time has passed."""


class SpanLog:
    """The kept spans of health and of activities: at most MOST of each, seen in the last KEPT_MS."""

    def __init__(self) -> None:
        self._health: dict[Key, HealthSpan] = {}
        self._activities: dict[Key, ActivitySpan] = {}
        self._under_way: frozenset[Key] = frozenset()
        self._at_ms = 0

    def restore(self, spans: Iterable[Span]) -> None:
        """Take what an earlier process kept."""
        for each in sorted(spans, key=_in_time):
            if isinstance(each, HealthSpan):
                self._health[key_of(each)] = each
            else:
                self._activities[key_of(each)] = each

    def take(self, found: Stability, activities: Sequence[Activity] | None, at_ms: int) -> Taken:
        """Take a sample.

        Args:
            found: whether the side is stable.
            activities: those under way; None if they are not known.
            at_ms: now, epoch milliseconds.
        """
        newest = next(reversed(self._health.values()), None)
        health = health_span(newest, found, at_ms)
        newest_of = {each.id: each for each in self._activities.values()}
        acting = [activity_span(newest_of.get(each.id), each, at_ms) for each in activities or ()]
        spans: tuple[Span, ...] = (health, *acting)
        now = frozenset(key_of(each) for each in acting)
        news = key_of(health) not in self._health or now != self._under_way
        self._health[key_of(health)] = health
        self._activities |= {key_of(each): each for each in acting}
        self._under_way, self._at_ms = now, at_ms
        _forget(self._health, at_ms - KEPT_MS)
        _forget(self._activities, at_ms - KEPT_MS)
        return Taken(spans={key_of(each): each for each in spans}, news=news)

    def between(self, first_ms: int, last_ms: int, now_ms: int) -> Timeline:
        """The spans that overlap a time; `last_ms` is not part of it."""
        sampled = now_ms - self._at_ms <= GAP_MS
        newest = next(reversed(self._health), None)
        current = {*self._under_way, *([newest] if newest else [])} if sampled else set()
        return Timeline(
            activities=_shown(self._activities, current, first_ms, last_ms),
            health=_shown(self._health, current, first_ms, last_ms),
        )


def _shown(spans: Mapping[Key, T], current: Collection[Key], first_ms: int, last_ms: int) -> list[T]:
    """Those of a time, oldest first; what is so now has no end."""
    found = [item for item in spans.items() if overlap(item[1], first_ms, last_ms)]
    found.sort(key=lambda item: _in_time(item[1]))
    return [replace(each, until_ms=None) if key in current else each for key, each in found]


def _forget(spans: dict[Key, T], oldest_ms: int) -> None:
    for key in [key for key, span in spans.items() if seen_ms(span) < oldest_ms]:
        del spans[key]
    for key in list(spans)[: max(0, len(spans) - MOST)]:
        del spans[key]


def _in_time(span: Span) -> tuple[int, int]:
    """Sort key: of two that begin in the same millisecond, the one that ended first comes first."""
    return span.from_ms, seen_ms(span)


def key_of(span: Span) -> Key:
    """The key of a span, which stays as it is while the span goes on."""
    if isinstance(span, HealthSpan):
        return span.from_ms, "", span.health
    return span.from_ms, span.id, f"{span.action}/{span.phase}"
