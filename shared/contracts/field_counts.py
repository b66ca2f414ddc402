"""Counts of a watched field's values, which add exactly, in any order and grouping.

Numbers are counted in buckets that grow by 4 %, as lags are; texts by themselves, at most MAX_TEXTS of them.
Which texts are kept follows from their hashes alone, so the count of one that is kept is exact in every sum.
"""

import math
import zlib
from collections.abc import Iterable, Mapping
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from shared.contracts.lag_histogram import merged
from shared.contracts.watches import WatchKind

MAX_TEXTS: Final = 50
"""Distinct texts that are kept; the others are counted together."""

MAX_TEXT_CHARACTERS: Final = 64
"""A longer text is cut: texts that begin alike are then one."""

GROWTH: Final = 1.04
SMALLEST: Final = 1e-9
"""A number nearer to zero counts as zero."""

LARGEST: Final = 1e15
"""A number further from zero counts as this, with its own sign."""

_LOG_GROWTH: Final = math.log(GROWTH)
_SHIFT: Final = math.ceil(-math.log(SMALLEST) / _LOG_GROWTH)

WatchKey = tuple[str, WatchKind]
"""Field and kind, as a `Watch` has them."""


class FieldCounts(msgspec.Struct, frozen=True, omit_defaults=True):
    """The values of one field in some events."""

    events: int = 0
    missing: int = 0
    """Events without a value: the field is absent, null, an object, or not of the watched kind."""

    numbers: dict[int, int] = {}
    """Values by `number_buckets`."""

    texts: dict[str, int] = {}
    other: int = 0
    """Values with a text that is not kept; 0 while there are at most MAX_TEXTS."""

    @property
    def values(self) -> int:
        """How many values there were: an array has several."""
        return sum(self.numbers.values()) + sum(self.texts.values()) + self.other


def number_buckets(values: NDArray[np.float64]) -> NDArray[np.int64]:
    """The bucket of each number: 0 for zero, negative for negative numbers, larger for larger ones."""
    size = np.minimum(np.abs(values), LARGEST)
    place = np.ceil(np.log(np.maximum(size, SMALLEST)) / _LOG_GROWTH - 1e-9).astype(np.int64) + _SHIFT
    return np.where(size < SMALLEST, 0, np.sign(values) * np.maximum(place, 1)).astype(np.int64)


def bucket_bounds(bucket: int) -> tuple[float, float]:
    """The lower and upper bound of a bucket's numbers."""
    if not bucket:
        return 0.0, 0.0
    near, far = (GROWTH ** (abs(bucket) - _SHIFT - step) for step in (1, 0))
    return (near, far) if bucket > 0 else (-far, -near)


def bucket_value(bucket: int) -> float:
    """The number that stands for a bucket."""
    return sum(bucket_bounds(bucket)) / 2


def kept_texts(counts: Mapping[str, int], other: int = 0) -> tuple[dict[str, int], int]:
    """The texts that are kept, and how many values the others have."""
    if len(counts) <= MAX_TEXTS:
        return dict(counts), other
    order = sorted(counts, key=text_order)
    kept = {text: counts[text] for text in order[:MAX_TEXTS]}
    return kept, other + sum(counts[text] for text in order[MAX_TEXTS:])


def text_order(text: str) -> tuple[int, str]:
    """The lowest are kept: by a hash, so that frequent and rare ones are chosen alike."""
    return zlib.crc32(text.encode("utf-8", "replace")), text


def summed(parts: Iterable[FieldCounts]) -> FieldCounts:
    """The counts of all events of several parts."""
    every = list(parts)
    if len(every) == 1:
        return every[0]
    texts: dict[str, int] = {}
    for each in every:
        for text, count in each.texts.items():
            texts[text] = texts.get(text, 0) + count
    kept, other = kept_texts(texts, sum(each.other for each in every))
    return FieldCounts(
        events=sum(each.events for each in every),
        missing=sum(each.missing for each in every),
        numbers=merged(each.numbers for each in every),
        texts=kept,
        other=other,
    )
