"""Counts dead letters by kind. Pure."""

from collections import Counter
from collections.abc import Container, Iterable

from msgspec import Struct

from shared.contracts.replays import LetterKey
from shared.dead_letters.dead_letter import DeadLetter

LetterKind = tuple[str, str, str]
"""Pipe, destination, the first word of the reason."""


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
            kinds[letter.pipe, letter.destination, letter.reason.partition(":")[0]] += 1
    return Summary(kinds=kinds, skipped=skipped)
