"""Which deliveries are remembered, and for how long."""

import random
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.data.transmit.deduplication.dedup_window import DedupWindow, KeySet

NOW = 10**12
keys = st.binary(min_size=16, max_size=16)
few_keys = st.sampled_from([bytes([n]) * 16 for n in range(12)] + [bytes(15) + bytes([n]) for n in range(12)])


@given(st.lists(keys | few_keys), st.lists(keys | few_keys))
def test_key_set_is_a_set(put: list[bytes], asked: list[bytes]) -> None:
    found = KeySet()
    for key in put:
        found.add(key)
    assert len(found) == len(set(put))
    assert all((key in found) == (key in set(put)) for key in put + asked)


def test_key_set_sees_no_match_across_two_neighbours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipelines.data.transmit.deduplication.dedup_window._BUCKETS", 1)
    found = KeySet()
    found.add(bytes(8) + b"12345678")
    found.add(b"abcdefgh" + bytes(8))
    assert b"12345678abcdefgh" not in found
    assert b"abcdefgh" + bytes(8) in found


@pytest.mark.parametrize("count", [150_000, pytest.param(400_000, marks=pytest.mark.proof)])
def test_key_set_takes_little_memory(count: int) -> None:
    """Memory includes the keys themselves if it holds them: they are created while it is measured."""
    source = random.Random(1)
    tracemalloc.start()
    found = KeySet()
    for _ in range(count):
        found.add(source.randbytes(16))
    taken = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert taken / len(found) < 50


deliveries = st.lists(st.tuples(few_keys | keys, st.integers(0, 1000)), max_size=80)


@given(deliveries, st.integers(1, 300))
def test_nothing_is_forgotten_within_the_window_nor_claimed_without_a_delivery(
    made: list[tuple[bytes, int]], window: int
) -> None:
    memory, now, last = DedupWindow(window, 1000), 0, dict[bytes, int]()
    for key, at_ms in made:
        memory.add(key, at_ms, NOW)
        now = max(now, at_ms)
        last[key] = now  # on the window's clock, which never goes back
        assert all(k in memory for k, t in last.items() if now - t < window)
    assert all(bytes([n]) * 16 not in memory for n in range(200, 210))


@given(st.lists(keys, unique=True, max_size=60), st.integers(1, 10))
def test_memory_is_bounded_and_keeps_the_newest(made: list[bytes], entries: int) -> None:
    memory = DedupWindow(10**9, entries)
    for number, key in enumerate(made):
        memory.add(key, number, NOW)
        assert len(memory) <= 2 * entries
        assert all(k in memory for k in made[max(0, number + 1 - entries) : number + 1])


def test_an_hour_by_which_the_clock_was_ahead_does_not_keep_a_key_for_that_long() -> None:
    """A delivery from that time keeps its period; the clock is right again for the next ones."""
    window, hour = 180_000, 3_600_000
    memory, ahead, first, last = DedupWindow(window, 1_000), bytes(16), b"a" * 16, b"b" * 16
    memory.add(ahead, NOW + hour, NOW + hour)
    memory.add(first, NOW, NOW)
    assert ahead in memory
    for passed in (window, 2 * window):
        memory.add(last, NOW + passed, NOW + passed)
        assert last in memory
    assert ahead not in memory
    assert first not in memory


def test_a_delivery_with_a_time_in_the_future_does_not_drop_those_before_it() -> None:
    memory, first, ahead = DedupWindow(180_000, 1_000), b"a" * 16, bytes(16)
    memory.add(first, NOW, NOW)
    for at in range(3):
        memory.add(ahead, NOW + at * 3_600_000, NOW)
    assert first in memory
