"""Replayed letters: same answers as a mapping of all of them, with a fraction of the memory."""

import tracemalloc
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.contracts.replays import MOST, LetterKey, Replay
from shared.dead_letters.replayed import ReplayedLetters
from shared.kafka.offset_range_reader import OffsetRange

NOW = 1_800_000_000_000
MINUTE = 60_000
BLOCK = 1 << 14
"""Offsets that are forgotten together."""

offsets = st.integers(0, 40) | st.integers(BLOCK - 2, BLOCK + 2) | st.integers(0, 2**45)
keys = st.builds(
    LetterKey, st.integers(0, 2), offsets, st.integers(0, 3).map(lambda minute: NOW + minute * MINUTE)
)
replays = st.builds(
    lambda second, letters: Replay(at_ms=second * 1_000, letters=letters),
    st.integers(0, 2**32 - 1),
    st.lists(keys, max_size=5),
)


def noted(found: Iterable[Replay]) -> ReplayedLetters:
    letters = ReplayedLetters()
    for each in found:
        letters.add(each)
    return letters


@given(st.lists(replays, max_size=5), st.lists(keys, max_size=3))
def test_each_letter_has_the_time_of_its_last_replay_and_others_have_none(
    found: list[Replay], others: list[LetterKey]
) -> None:
    last = {letter: replay.at_ms for replay in found for letter in replay.letters}
    letters = noted(found)
    for each in (*last, *others):
        assert letters.get(each) == last.get(each)
        assert (each in letters) == (each in last)


@given(st.lists(replays, max_size=5), st.integers(0, 2), offsets)
def test_letters_that_the_topic_still_holds_are_never_forgotten(
    found: list[Replay], partition: int, start: int
) -> None:
    letters = noted(found)
    known = {letter for replay in found for letter in replay.letters}
    letters.forget([OffsetRange("dead_letter", partition, start, start + 1)])
    for each in known:
        if each.partition != partition or each.offset >= start:
            assert each in letters
        elif each.offset < start - BLOCK:
            assert each not in letters


def test_a_time_is_exact_to_the_second_and_a_letter_to_the_minute() -> None:
    letter = LetterKey(0, 7, NOW)
    letters = noted([Replay(at_ms=NOW + 5_678, letters=[letter])])
    assert letters.get(letter) == NOW + 5_000
    assert letter._replace(written_ms=NOW + MINUTE) not in letters, "of a topic that was created again"


@pytest.mark.parametrize("count", [20_000, pytest.param(40_000, marks=pytest.mark.proof)])
@pytest.mark.parametrize("step", [1, 100, -3])
def test_a_million_replayed_letters_take_less_than_ten_mebibytes(step: int, count: int) -> None:
    first = 0 if step > 0 else -step * count
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    letters = ReplayedLetters()
    for begin in range(0, count, MOST):
        numbers = range(begin, begin + MOST)
        some = [LetterKey(0, first + step * each, NOW + each) for each in numbers]
        letters.add(Replay(at_ms=NOW + begin, letters=some))
    del some, numbers
    taken = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert LetterKey(0, first, NOW) in letters
    assert taken * 1_000_000 / count < 10 * 1024 * 1024
