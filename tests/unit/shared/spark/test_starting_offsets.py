"""Starting offsets of a query whose checkpoint names offsets that the topics no longer have."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.contracts.replay_range import replay_of
from shared.kafka.retained_offsets import RetainedOffsets
from shared.spark.starting_offsets import resumed, unfinished


@pytest.mark.parametrize(
    ("at", "goes_on", "gone"),
    [
        (10, 10, {}),
        (15, 15, {}),
        (20, 20, {}),
        (3, 10, {("t", "0"): 7}),
        (21, 10, {("t", "0"): 0}),
    ],
)
def test_a_query_continues_at_its_offset_or_at_the_first_retained_one(
    at: int, goes_on: int, gone: dict[tuple[str, str], int]
) -> None:
    assert resumed({"t": {"0": at}}, {("t", "0"): RetainedOffsets(10, 20)}) == ({"t": {"0": goes_on}}, gone)


@given(st.dictionaries(st.sampled_from("0123"), st.integers(0, 99)), st.integers(0, 50), st.integers(0, 50))
def test_every_partition_has_a_place_that_is_there(at: dict[str, int], first: int, records: int) -> None:
    kept = {("t", partition): RetainedOffsets(first, first + records) for partition in "0123"}

    usable, _ = resumed({"t": at}, kept)

    assert all(first <= usable["t"][partition] <= first + records for partition in "0123")


@pytest.mark.parametrize(
    ("at", "marked"),
    [
        ({"0": 3, "1": 17}, {"0": 15, "1": 20}),  # expired: what is left of its range
        ({"0": 40, "1": 17}, {"1": 20}),  # recreated: other records have the offsets of the range
        ({"0": 40, "1": 20}, {}),
        ({"0": 16, "1": 5}, {"0": 15, "1": 20}),
        ({"0": 16, "1": 40}, {}),
    ],
)
def test_a_replay_goes_on_in_the_partitions_that_still_have_its_records(
    at: dict[str, int], marked: dict[str, int]
) -> None:
    replay = replay_of({}, {"t": {"0": 15, "1": 20}})
    usable, expired = resumed({"t": at}, {("t", each): RetainedOffsets(10, 30) for each in "01"})

    rest = unfinished(replay, usable, expired)

    assert (rest.before["t"] if rest else {}) == marked
