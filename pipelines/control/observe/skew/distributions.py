"""The population stability index of two counts of a field, and their shares to draw. Pure.

The parts that are compared are made from both counts alike, so exchanging the two changes no figure.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from shared.contracts.field_counts import MAX_TEXTS, FieldCounts, bucket_bounds, bucket_value, text_order
from shared.contracts.skew import SkewBar
from shared.contracts.watches import WatchKind

GROUPS: Final = 10
"""Parts that numbers are compared in, of about as many values each."""

LEAST_SHARE: Final = 1e-4
"""A smaller share counts as this one: the index knows no zero."""

OTHER: Final = "(other)"


class Part(NamedTuple):
    """One part of the values, with its share (0 to 1) on both sides."""

    label: str
    now: float
    before: float


def psi(parts: Iterable[Part]) -> float:
    """The population stability index: 0 for equal shares; above 0.2 customarily a shift."""
    total = 0.0
    for part in parts:
        now, before = max(part.now, LEAST_SHARE), max(part.before, LEAST_SHARE)
        total += (now - before) * math.log(now / before)
    return total


def parts(kind: WatchKind, now: FieldCounts, before: FieldCounts) -> list[Part]:
    """The values of both sides, each of which has some, in common parts."""
    if kind == "distribution":
        return _number_parts(now.numbers, before.numbers)
    return _text_parts(now, before)


def bars(found: Iterable[Part]) -> list[SkewBar]:
    """The parts as the API has them."""
    return [SkewBar(label=part.label, now=round(part.now, 6), before=round(part.before, 6)) for part in found]


def median(counts: Mapping[int, int]) -> float:
    """The median of numbers, accurate to 2 %."""
    half, seen = sum(counts.values()) / 2, 0
    for bucket in sorted(counts):
        seen += counts[bucket]
        if seen >= half:
            return bucket_value(bucket)
    raise ValueError("no numbers")


def _number_parts(now: Mapping[int, int], before: Mapping[int, int]) -> list[Part]:
    of_now, of_before = sum(now.values()), sum(before.values())
    return [
        Part(
            _span(group),
            sum(now.get(bucket, 0) for bucket in group) / of_now,
            sum(before.get(bucket, 0) for bucket in group) / of_before,
        )
        for group in _groups(now, before)
    ]


def _groups(now: Mapping[int, int], before: Mapping[int, int]) -> list[list[int]]:
    """Neighbouring buckets together, each group with about 1 / GROUPS of both sides' values."""
    of_now, of_before = sum(now.values()), sum(before.values())
    groups: list[list[int]] = []
    room = 0.0
    for bucket in sorted({*now, *before}):
        if room <= 0:
            groups.append([])
            room = 1 / GROUPS
        groups[-1].append(bucket)
        room -= (now.get(bucket, 0) / of_now + before.get(bucket, 0) / of_before) / 2
    return groups


def _span(group: Sequence[int]) -> str:
    low, high = bucket_bounds(group[0])[0], bucket_bounds(group[-1])[1]
    return f"{low:.3g}" if low == high else f"{low:.3g} to {high:.3g}"


def _text_parts(now: FieldCounts, before: FieldCounts) -> list[Part]:
    """The texts that both sides count exactly, and the rest; the most different ones first."""
    known = [text for text in {*now.texts, *before.texts} if _counts(now, text) and _counts(before, text)]
    of_now, of_before = now.values, before.values
    found = [
        Part(text, now.texts.get(text, 0) / of_now, before.texts.get(text, 0) / of_before) for text in known
    ]
    rest_now = of_now - sum(now.texts.get(text, 0) for text in known)
    rest_before = of_before - sum(before.texts.get(text, 0) for text in known)
    if rest_now or rest_before:
        found.append(Part(OTHER, rest_now / of_now, rest_before / of_before))
    return sorted(found, key=lambda part: (-abs(part.now - part.before), part.label))


def _counts(counts: FieldCounts, text: str) -> bool:
    """Whether a side counts this text by itself, be it as zero."""
    if len(counts.texts) < MAX_TEXTS or not counts.other:
        return True
    return text_order(text) <= max(map(text_order, counts.texts))
