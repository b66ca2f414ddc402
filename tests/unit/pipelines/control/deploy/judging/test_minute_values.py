"""Values per minute of a whole day, as a deployer finds them after an absence of a day."""

import time
from collections.abc import Callable, Iterator

import pytest
from msgspec.structs import replace

from pipelines.control.deploy.backend import SideMinute
from pipelines.control.deploy.judging.minute_values import (
    MEBIBYTE,
    MOST_MINUTES,
    Pairs,
    costlier,
    growing,
    slower,
)

DAY = 1_440


@pytest.fixture
def within_five_seconds() -> Iterator[None]:
    """The test uses less CPU time; without a bound it would take minutes."""
    began = time.process_time()
    yield
    assert time.process_time() - began < 5


def pairs(slow: range) -> Pairs:
    """A day of both sides, with a slow target in these minutes."""
    like = SideMinute(minute=0, total=9_000, good=9_000, p95_ms=200.0, cpu_seconds=9.0)
    theirs = [replace(like, minute=minute) for minute in range(DAY)]
    ours = [replace(each, p95_ms=320.0, cpu_seconds=13.0) if each.minute in slow else each for each in theirs]
    return list(zip(ours, theirs, strict=True))


def memory(first: int, last: int) -> list[SideMinute]:
    """A day in which memory grows evenly between two values, MiB."""
    return [
        SideMinute(minute=minute, memory_bytes=MEBIBYTE * (first + (last - first) * minute // DAY))
        for minute in range(DAY)
    ]


@pytest.mark.usefixtures("within_five_seconds")
@pytest.mark.parametrize("worse", [slower, costlier])
def test_the_newest_pairs_of_a_day_decide(worse: Callable[[Pairs], Iterator[str]]) -> None:
    half = DAY // 2
    (words,) = worse(pairs(slow=range(half, DAY)))
    assert f"in {MOST_MINUTES} minutes" in words
    assert list(worse(pairs(slow=range(half)))) == []


@pytest.mark.usefixtures("within_five_seconds")
def test_memory_that_rises_by_a_fifth_in_a_day_is_found() -> None:
    (words,) = growing(memory(1_000, 1_300))
    assert "1,000 to 1,299 MiB" in words
    assert f"in {DAY - 4} minutes" in words
    assert list(growing(memory(1_000, 1_100))) == []
