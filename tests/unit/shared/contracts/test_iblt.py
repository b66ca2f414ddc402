"""The difference of two sketches names the ids, however the sketches were built."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.contracts.event_hash import id_hash
from shared.contracts.iblt import CELLS, Hashes, Iblt

hashes = st.lists(st.integers(0, 2**64 - 1), max_size=50)


def array(values: list[int]) -> Hashes:
    return np.array(values, np.uint64)


def random_ids(seed: int, count: int) -> Hashes:
    return np.random.default_rng(seed).integers(0, 2**64, count, np.uint64)


@given(hashes, hashes)
def test_sketch_of_all_is_the_sum_of_its_parts(some: list[int], others: list[int]) -> None:
    assert Iblt.of(array(some + others)) == Iblt.of(array(others)) + Iblt.of(array(some))


@given(hashes, hashes)
def test_ids_in_both_sketches_cancel_out(common: list[int], extra: list[int]) -> None:
    left = Iblt.of(array([*common, *extra])) - Iblt.of(array(common))
    assert left == Iblt.of(array(extra))
    assert left.count == len(extra)
    assert (left - Iblt.of(array(extra))).empty


@given(hashes)
def test_packed_it_is_the_same(values: list[int]) -> None:
    sketch = Iblt.of(array(values))
    assert Iblt.unpack(sketch.pack()) == sketch


SEEDS = [*range(15), *(pytest.param(seed, marks=pytest.mark.proof) for seed in range(15, 50))]


@pytest.mark.parametrize("seed", SEEDS)
def test_a_hundred_missing_and_a_hundred_doubled_of_many_are_named(seed: int) -> None:
    ids = random_ids(seed, 5_000)
    lost, doubled, kept = ids[:100], ids[100:200], ids[100:]
    left = Iblt.of(np.concatenate([kept, doubled])) - Iblt.of(ids)
    expected = {int(each): -1 for each in lost} | {int(each): 1 for each in doubled}
    assert left.decode() == expected
    assert left.count == 0


@pytest.mark.parametrize("times", [1, 2, 3, 4, 5, 6, 7, 8])
def test_an_id_that_is_left_over_several_times_is_named_with_how_often(times: int) -> None:
    ids = random_ids(times, 20)
    assert Iblt.of(np.repeat(ids, times)).decode() == {int(each): times for each in ids}


def test_too_many_are_not_named_but_counted() -> None:
    left = Iblt() - Iblt.of(random_ids(0, CELLS))
    assert left.decode() is None
    assert left.count == -CELLS


def test_a_sketch_is_decoded_once_and_cannot_change_afterwards() -> None:
    sketch = Iblt.of(random_ids(0, 3)) + Iblt.of(random_ids(1, 3))
    assert sketch.decode() is sketch.decode()
    for each in (sketch, Iblt(), Iblt.unpack(sketch.pack())):
        with pytest.raises(ValueError, match="read-only"):
            each.cells[0, 0] += np.uint64(1)


def test_bytes_that_are_no_sketch_are_refused() -> None:
    with pytest.raises(ValueError, match="size"):
        Iblt.unpack(b"x" * 7)


@given(st.text(st.characters(codec="utf-8")))
def test_hash_is_64_bits_and_of_the_text_alone(text: str) -> None:
    assert 0 <= id_hash(text) < 2**64
    assert id_hash(text) == id_hash("".join(text))
