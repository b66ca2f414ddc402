"""The number that stands for an event's id in samples, traces and sketches; without numpy, for all nodes."""

from typing import Final

import xxhash

SEED: Final = 42
"""Seed of Spark's xxhash64, which computes the same number in the JVM."""


def id_hash(event_id: str) -> int:
    """64 bits of an event's id: XXH64 of its UTF-8 bytes, as Spark's `xxhash64` gives it, unsigned."""
    return xxhash.xxh64_intdigest(event_id.encode(), seed=SEED)
