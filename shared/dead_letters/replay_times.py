"""When dead letters were replayed, in eight bytes for each: a side may have replayed millions.

Beside these, each 16,384 offsets of `dead_letter` with a replayed letter take some 200 bytes.
"""

from array import array
from bisect import bisect_left
from typing import Final

from shared.contracts.replays import LetterKey

_OFFSET_BITS: Final = 14
"""Offsets of one block, in bits: few enough that a letter before all others of it is put in quickly."""

_MINUTE_BITS: Final = 18
_SECOND_BITS: Final = 32
_SECONDS: Final = 1 << _SECOND_BITS

_PARTITION_SHIFT: Final = 64


class ReplayTimes:
    """A mapping of dead letters to times of their replay, to the second.

    A letter of a topic that was created again is another one if it was written in another minute. A letter is
    one number: the lower bits of its offset, its minute (modulo half a year), and the second of its replay.
    """

    def __init__(self) -> None:
        self._blocks: dict[int, array[int]] = {}
        """Blocks by partition and the offset's upper bits, in one number to save the memory of a tuple."""

    def get(self, letter: LetterKey) -> int | None:
        """When it was replayed last, epoch milliseconds, to the second; None if it was not."""
        place, name = _split(letter)
        block = self._blocks.get(place)
        if block is None:
            return None
        at = bisect_left(block, name)
        if at == len(block) or block[at] - name >= _SECONDS:
            return None
        return (block[at] - name) * 1_000

    def add(self, letter: LetterKey, at_ms: int) -> None:
        """Take note of a replay."""
        place, name = _split(letter)
        block = self._blocks.setdefault(place, array("Q"))
        at = bisect_left(block, name)
        second = min(max(0, at_ms // 1_000), _SECONDS - 1)
        if at < len(block) and block[at] - name < _SECONDS:
            block[at] = name + second
        else:
            block.insert(at, name + second)

    def forget(self, partition: int, before: int) -> None:
        """Forget letters before an offset; those that share a block with later ones may stay."""
        first = partition << _PARTITION_SHIFT
        gone = range(first, first + (before >> _OFFSET_BITS))
        for place in [place for place in self._blocks if place in gone]:
            del self._blocks[place]


def _split(letter: LetterKey) -> tuple[int, int]:
    """Its block, and its name in it, with room for a second below."""
    upper, lower = letter.offset >> _OFFSET_BITS, letter.offset & ((1 << _OFFSET_BITS) - 1)
    minute = letter.written_ms // 60_000 & ((1 << _MINUTE_BITS) - 1)
    return letter.partition << _PARTITION_SHIFT | upper, (lower << _MINUTE_BITS | minute) << _SECOND_BITS
