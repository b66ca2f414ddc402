"""The offset of each key's newest record, also of a deleted one."""

from hypothesis import given
from hypothesis import strategies as st

from shared.kafka.newest_offsets import NewestOffsets

MANY = 20_000


def test_names_that_come_and_go_for_months_take_no_more_room() -> None:
    offsets = NewestOffsets()
    offsets.note(b"stays", 0, deleted=False)
    for number in range(MANY):
        offsets.note(b"run-%d" % number, 2 * number + 1, deleted=False)
        offsets.note(b"run-%d" % number, 2 * number + 2, deleted=True)
    assert len(offsets) < MANY / 10
    assert offsets.of(b"stays") == 0
    assert offsets.of(b"run-%d" % (MANY - 1)) == 2 * MANY


@given(st.lists(st.tuples(st.integers(0, 3_000), st.booleans()), max_size=5_000))
def test_a_reader_that_is_past_what_is_said_of_a_key_is_past_its_newest_record(
    records: list[tuple[int, bool]],
) -> None:
    offsets, truth = NewestOffsets(), dict[bytes, int]()
    for offset, (name, deleted) in enumerate(records):
        key = b"%d" % name
        offsets.note(key, offset, deleted=deleted)
        truth[key] = offset
    assert all(at <= offsets.of(key) < len(records) for key, at in truth.items())


def test_deletions_that_a_slow_reader_lacks_are_not_taken_for_ones_that_it_has() -> None:
    offsets = NewestOffsets()
    for number in range(MANY):
        offsets.note(b"%d" % number, number, deleted=True)
    assert offsets.of(b"5") >= 5
    assert NewestOffsets().of(b"5") == -1
