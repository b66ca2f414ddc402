"""Which deliveries are remembered, and for how long."""

import random
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.data.transmit.deduplication.dedup_window import DedupWindow, KeySet

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


def test_key_set_takes_little_memory() -> None:
    source = random.Random(1)
    tracemalloc.start()
    found = KeySet()
    for _ in range(400_000):
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
        memory.add(key, at_ms)
        now = max(now, at_ms)
        last[key] = now  # on the memory's clock, which never goes back
        assert all(k in memory for k, t in last.items() if now - t < window)
    assert all(bytes([n]) * 16 not in memory for n in range(200, 210))


@given(st.lists(keys, unique=True, max_size=60), st.integers(1, 10))
def test_memory_is_bounded_and_keeps_the_newest(made: list[bytes], entries: int) -> None:
    memory = DedupWindow(10**9, entries)
    for number, key in enumerate(made):
        memory.add(key, number)
        assert len(memory) <= 2 * entries
        assert all(k in memory for k in made[max(0, number + 1 - entries) : number + 1])
