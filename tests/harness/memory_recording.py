"""Memory of both sides' chains while a version is released, and since when one of them needs too much."""

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final, NamedTuple

from shared.contracts.envelope import MINUTE_MS
from shared.runtime.clock import Clock, wall_clock

TOO_MUCH: Final = 1.3
"""A version may need so many times what the other side needs at most: docs/releases.md, the verdict."""

_EVERY_SECONDS: Final = 10.0


class MemoryReading(NamedTuple):
    """The memory of each side at one moment."""

    at_ms: int
    bytes_by_side: Mapping[str, int]


@contextmanager
def recorded_memory(
    read: Callable[[], Mapping[str, int]],
    clock: Clock = wall_clock,
    every_seconds: float = _EVERY_SECONDS,
) -> Iterator[Sequence[MemoryReading]]:
    """Readings that become more while the block runs, oldest first; `read` gives bytes by side."""
    readings, over = list[MemoryReading](), threading.Event()

    def record() -> None:
        readings.append(MemoryReading(clock(), read()))
        while not over.wait(every_seconds):
            readings.append(MemoryReading(clock(), read()))

    thread = threading.Thread(target=record, name="memory", daemon=True)
    thread.start()
    try:
        yield readings
    finally:
        over.set()
        thread.join()


def heavy_since_ms(readings: Sequence[MemoryReading], side: str, other: str, traffic_ms: int) -> int:
    """When the first minute began in which a side needed too much, epoch milliseconds. Pure.

    The minute in which its traffic began is not a whole one: if it needed too much then already, it counts
    from that reading.

    Args:
        readings: of the time in which both had traffic.
        side: that needs too much.
        other: the side beside it.
        traffic_ms: when `side` got its first traffic, epoch milliseconds.

    Raises:
        AssertionError: if it never needed too much.
    """
    most = TOO_MUCH * max((each.bytes_by_side[other] for each in readings), default=0)
    heavy = [each.at_ms for each in readings if each.bytes_by_side[side] > most]
    assert heavy, f"{side} never needed more than {TOO_MUCH} times as much as {other}: {list(readings)}"
    minute_ms = heavy[0] - heavy[0] % MINUTE_MS
    return minute_ms if minute_ms >= traffic_ms else heavy[0]
