"""Counts dead letters by kind. Pure."""

from collections import Counter
from collections.abc import Container, Iterable
from typing import NamedTuple

from msgspec import Struct

from shared.contracts.replays import LetterKey
from shared.dead_letters.dead_letter import DeadLetter


class LetterKind(NamedTuple):
    """The fields that letters are counted by."""

    tenant: str
    pipe: str
    destination: str
    word: str
    """The first word of the reason."""


class Summary(Struct, frozen=True, kw_only=True):
    """Letters to replay by kind, and the number of those left out."""

    kinds: Counter[LetterKind]
    skipped: int
    """Replayed before."""

    @property
    def letters(self) -> int:
        """Number of letters to replay."""
        return self.kinds.total()


def summarize(letters: Iterable[DeadLetter], closed: Container[LetterKey]) -> Summary:
    """Count letters, apart from those that were replayed before."""
    kinds: Counter[LetterKind] = Counter()
    skipped = 0
    for letter in letters:
        if letter.key in closed:
            skipped += 1
        else:
            word = letter.reason.partition(":")[0]
            kinds[LetterKind(letter.tenant, letter.pipe, letter.destination, word)] += 1
    return Summary(kinds=kinds, skipped=skipped)
