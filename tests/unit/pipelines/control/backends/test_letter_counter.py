"""Dead letters are counted piece by piece, and counted ones are not read again."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from pipelines.control.backends.letter_counter import LetterCounter
from shared.contracts import headers as h
from shared.contracts.replays import LetterKey
from shared.contracts.topics import Topic
from shared.dead_letters.dead_letter import DeadLetter, letter_of
from shared.kafka.offset_range_reader import OffsetRange


class DeadLetters:
    """One partition of dead letters, some replays, and a clock that advances with each letter read."""

    def __init__(self, *reasons: str) -> None:
        self.reasons, self.replayed = list(reasons), set[LetterKey]()
        self.reads, self.now, self.seconds_a_letter = 0, 0.0, 0.0
        self.first = 0
        self.counter = LetterCounter(self._ends, self._opened, lambda: self.now)

    @property
    def spans(self) -> list[OffsetRange]:
        return [OffsetRange(Topic.DEAD_LETTER, 0, self.first, len(self.reasons))]

    def letters_in(self, spans: Iterable[OffsetRange]) -> Iterator[DeadLetter]:
        for span in spans:
            for offset in range(span.start, span.end):
                self.reads += 1
                self.now += self.seconds_a_letter
                headers: list[tuple[str, bytes | None]] = [(h.REASON, self.reasons[offset].encode())]
                yield letter_of(LetterKey(0, offset, 7), None, b"", headers, {})

    def replay(self, offset: int) -> None:
        self.replayed.add(LetterKey(0, offset, 7))

    def counted(self) -> dict[str, int]:
        found = None
        for _ in range(100):
            found = self.counter.count()
            if found is not None:
                break
        assert found is not None
        return dict(found)

    def _ends(self) -> dict[tuple[str, int], int]:
        return {(Topic.DEAD_LETTER, 0): len(self.reasons), (Topic.REPLAYED, 0): len(self.replayed)}

    @contextmanager
    def _opened(self) -> Iterator["DeadLetters"]:
        yield self


def test_letters_are_counted_by_the_first_word_of_their_reason() -> None:
    letters = DeadLetters("refused: 410", "refused: 404", "expired")
    assert letters.counted() == {"refused": 2, "expired": 1}


def test_letters_that_were_counted_are_not_read_again() -> None:
    letters = DeadLetters("a", "a", "b")
    letters.counted()
    assert letters.counted() == {"a": 2, "b": 1}
    assert letters.reads == 3
    letters.reasons.append("b")
    assert letters.counted() == {"a": 2, "b": 2}
    assert letters.reads == 4


def test_a_letter_that_was_replayed_since_counts_no_more() -> None:
    letters = DeadLetters("a", "a", "b")
    letters.replay(2)
    assert letters.counted() == {"a": 2}
    letters.replay(0)
    assert letters.counted() == {"a": 1}


def test_many_letters_are_counted_over_several_calls_each_of_which_returns_soon() -> None:
    letters = DeadLetters(*["a"] * 20)
    letters.seconds_a_letter = 1.0
    calls = 0
    while letters.counter.count() is None:
        calls += 1
        assert letters.now <= 6 * calls
    assert letters.counted() == {"a": 20}
    assert letters.reads == 20


def test_a_letter_that_is_replayed_between_two_pieces_of_a_count_counts_no_more() -> None:
    letters = DeadLetters(*["a"] * 20)
    letters.seconds_a_letter = 1.0
    assert letters.counter.count() is None
    letters.replay(0)
    letters.counted()
    letters.seconds_a_letter = 0
    assert letters.counted() == {"a": 19}


def test_letters_that_became_too_old_count_no_more_after_an_hour() -> None:
    letters = DeadLetters("a", "a", "b")
    letters.counted()
    letters.first, letters.now = 2, letters.now + 3_601
    assert letters.counted() == {"b": 1}


def test_a_count_that_broke_off_goes_on_where_it_was() -> None:
    letters = DeadLetters("a", "b")
    letters.counted()
    letters.reasons += ["c", "d"]
    whole = letters.letters_in

    def breaks(spans: Iterable[OffsetRange]) -> Iterator[DeadLetter]:
        yield next(whole(spans))
        raise TimeoutError("the brokers sent no records")

    letters.letters_in = breaks  # type: ignore[method-assign]
    try:
        letters.counter.count()
    except TimeoutError:
        letters.letters_in = whole  # type: ignore[method-assign]
    assert letters.counted() == {"a": 1, "b": 1, "c": 1, "d": 1}
    assert letters.reads == 4
