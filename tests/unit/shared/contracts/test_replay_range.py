"""Offsets alone decide which records a replay marks."""

from hypothesis import given
from hypothesis import strategies as st

from shared.contracts.replay_range import decode_replay_range, encode_replay_range, replay_of

_OFFSETS = st.dictionaries(
    st.just("collected"),
    st.dictionaries(st.integers(0, 5).map(str), st.integers(0, 2**40), max_size=5),
    max_size=1,
)


@given(_OFFSETS, _OFFSETS, _OFFSETS)
def test_the_same_records_are_the_same_replay_and_others_another(
    since: dict[str, dict[str, int]], before: dict[str, dict[str, int]], other: dict[str, dict[str, int]]
) -> None:
    found = replay_of(since, before)
    assert decode_replay_range(encode_replay_range(found)) == found
    assert replay_of(since, before) == found
    assert (replay_of(since, other).name == found.name) == (other == before)
    assert (replay_of(other, before).name == found.name) == (other == since)


@given(_OFFSETS, _OFFSETS)
def test_a_replay_is_over_once_every_partition_is_past_its_range(
    before: dict[str, dict[str, int]], reached: dict[str, dict[str, int]]
) -> None:
    found = replay_of({}, before)
    behind = [
        end
        for topic, ends in before.items()
        for partition, end in ends.items()
        if reached.get(topic, {}).get(partition, 0) < end
    ]
    assert found.left(reached) == bool(behind)
    assert not found.left(before)


@given(_OFFSETS, st.sets(st.integers(0, 5).map(lambda each: ("collected", str(each)))))
def test_a_replay_without_some_partitions_keeps_the_others_and_its_name(
    before: dict[str, dict[str, int]], recreated: set[tuple[str, str]]
) -> None:
    found = replay_of({}, before)
    rest = found.without(recreated)
    assert rest.name == found.name
    assert {(topic, each, end) for topic, ends in rest.before.items() for each, end in ends.items()} == {
        (topic, each, end)
        for topic, ends in before.items()
        for each, end in ends.items()
        if (topic, each) not in recreated
    }
