"""Ledger records are read back as written, and a range that is read again has the same key."""

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.contracts.iblt import Iblt
from shared.contracts.ledger import FEW, Range, Stage, Tally, decode_range, encode_range, with_ids
from shared.contracts.topics import Topic


def tally(**changes: object) -> Tally:
    told = {"stage": Stage.EVENTS, "tenant": "t", "minute": 7, "count": 1, "first": 0, "last": 0, **changes}
    return Tally(**told)  # type: ignore[arg-type]


def found(**changes: object) -> Range:
    told = {"topic": Topic.EVENTS, "partition": 1, "start": 5, "end": 9, "newest_ms": 3, "tallies": []}
    return Range(**told | changes)  # type: ignore[arg-type]


@given(st.integers(0, 2 * FEW), st.integers(0, 2**32))
def test_ids_travel_as_a_list_or_as_cells_with_the_same_sketch_and_sum(count: int, seed: int) -> None:
    hashes = np.random.default_rng(seed).integers(0, 2**64, count, np.uint64)
    told = with_ids(tally(count=count), hashes)
    assert bool(told.cells) == (count > FEW)
    assert told.sketch == Iblt.of(hashes)
    assert told.hash_sum == sum(hashes.tolist()) % 2**64


def test_range_comes_back_as_it_was_written() -> None:
    said = tally(name="p", lag_out={3: 1}, reasons={"404 refused": 2}, due_ms=5, late=1)
    whole = found(part=1, parts=2, tallies=[said])
    assert decode_range(encode_range(whole)) == whole


def test_key_names_the_range_and_the_part() -> None:
    assert found().key == b"events/1/5-9/0"
    keys = {found(**change).key for change in ({}, {"partition": 2}, {"start": 6}, {"end": 8}, {"part": 1})}
    assert len(keys) == 5


def test_bytes_that_are_no_range_are_refused() -> None:
    with pytest.raises(msgspec.MsgspecError):
        decode_range(b"\xc1")
