"""How many letters there are of each kind. Pure."""

from collections import Counter

from scripts.letters.letter import Letter

Kind = tuple[str, str, str]
"""Pipe, destination, the first word of the reason."""


class Tally:
    """Counts letters by kind, and how many of them were left out because they were put back before."""

    def __init__(self) -> None:
        self.kinds: Counter[Kind] = Counter()
        self.skipped = 0

    def add(self, letter: Letter) -> None:
        """Count one."""
        self.kinds[letter.pipe, letter.destination, letter.reason.partition(":")[0]] += 1

    @property
    def letters(self) -> int:
        """All that were counted."""
        return self.kinds.total()
