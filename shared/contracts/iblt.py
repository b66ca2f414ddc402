"""A sketch of a set of event ids in a few kilobytes; the difference of two hops' sketches names the ids.

An invertible Bloom lookup table (Goodrich and Mitzenmacher, 2011): each id's 64-bit hash is added to one cell
of each of four tables. A cell holds the count, the sum of the hashes and the sum of a check of each, all
modulo 2**64, so sketches add and subtract cell by cell. A cell that holds just one hash reveals it; removing
it from its other cells may reveal more, until all are known or too many remain.
"""

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

Hashes = NDArray[np.uint64]

TABLES: Final = 4
TABLE_CELLS: Final = 96
CELLS: Final = TABLES * TABLE_CELLS
"""200 ids, 100 missing and 100 doubled, fill half: of 10,000 such sets all but two are decoded completely."""

_MULTIPLICITY: Final = 8
"""How often one id may be left over in a cell to be named."""

_BITS: Final = 64
_MASK: Final = 2**_BITS - 1
_GOLDEN: Final = np.uint64(0x9E3779B97F4A7C15)
_CHECK: Final = np.uint64(0xD1B54A32D192ED03)
_STEPS: Final = ((30, np.uint64(0xBF58476D1CE4E5B9)), (27, np.uint64(0x94D049BB133111EB)))
_ROWS: Final = 3


class Iblt:
    """Additive cells: `cells` is an array of three rows (count, hash sum, check sum) of CELLS columns.

    The array is read-only from then on, because `decode` caches its result: decoding takes tens of
    milliseconds, and is asked for every few seconds while a minute has waiting events.
    """

    def __init__(self, cells: NDArray[np.uint64] | None = None) -> None:
        self.cells = np.zeros((_ROWS, CELLS), np.uint64) if cells is None else cells
        self.cells.flags.writeable = False

    @classmethod
    def of(cls, hashes: Hashes) -> "Iblt":
        """The sketch of these hashes, each as often as it occurs."""
        cells = np.zeros((_ROWS, CELLS), np.uint64)
        checks = _mixed(hashes ^ _CHECK)
        one = np.uint64(1)
        for positions in _positions(hashes):
            np.add.at(cells[0], positions, one)
            np.add.at(cells[1], positions, hashes)
            np.add.at(cells[2], positions, checks)
        return cls(cells)

    @classmethod
    def unpack(cls, packed: bytes) -> "Iblt":
        """The sketch that `pack` gave.

        Raises:
            ValueError: if the bytes are not a sketch.
        """
        return cls(np.frombuffer(packed, "<u8").reshape(_ROWS, CELLS).astype(np.uint64))

    def pack(self) -> bytes:
        """9,216 bytes, little-endian."""
        return self.cells.astype("<u8").tobytes()

    def __add__(self, other: "Iblt") -> "Iblt":
        return Iblt(self.cells + other.cells)

    def __sub__(self, other: "Iblt") -> "Iblt":
        return Iblt(self.cells - other.cells)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Iblt) and bool((self.cells == other.cells).all())

    __hash__ = None  # type: ignore[assignment]  # it is compared, and never a key

    @property
    def empty(self) -> bool:
        """Whether every id was added and removed equally often."""
        return not self.cells.any()

    @property
    def count(self) -> int:
        """Ids added minus ids removed."""
        return _signed(int(self.cells[0, :TABLE_CELLS].sum()))

    def decode(self) -> Mapping[int, int] | None:
        """How often each hash remains (negative: how often it is missing); None if too many remain."""
        return self._decoded

    @cached_property
    def _decoded(self) -> Mapping[int, int] | None:
        cells = self.cells.copy()
        found: dict[int, int] = {}
        pending = [int(at) for at in np.flatnonzero(cells.any(axis=0))]
        while pending:
            at = pending.pop()
            pure = _pure(int(cells[0, at]), int(cells[1, at]), int(cells[2, at]), at)
            if pure is None:
                continue
            value, times = pure
            found[value] = found.get(value, 0) + times
            pending.extend(_take_out(cells, value, times))
        return {value: times for value, times in found.items() if times} if not cells.any() else None


def _take_out(cells: NDArray[np.uint64], value: int, times: int) -> Iterable[int]:
    """Remove a hash; returns the cells that it was in."""
    hashes = np.array([value], np.uint64)
    check = int(_mixed(hashes ^ _CHECK)[0])
    places = [int(positions[0]) for positions in _positions(hashes)]
    for at in places:
        for row, part in enumerate((1, value, check)):
            cells[row, at] = np.uint64((int(cells[row, at]) - times * part) & _MASK)
    return places


def _pure(count: int, total: int, check: int, at: int) -> tuple[int, int] | None:
    """The only hash in a cell, and how often; None if the cell is empty or holds several."""
    times = _signed(count)
    if not 0 < abs(times) <= _MULTIPLICITY:
        return None
    for value in _quotients(total if times > 0 else -total & _MASK, abs(times)):
        hashes = np.array([value], np.uint64)
        fits = int(_mixed(hashes ^ _CHECK)[0]) * times & _MASK == check
        if fits and any(int(positions[0]) == at for positions in _positions(hashes)):
            return value, times
    return None


def _quotients(total: int, times: int) -> Iterable[int]:
    """Every x with x * times == total modulo 2**64; several where `times` is even."""
    twos = (times & -times).bit_length() - 1
    if total & ((1 << twos) - 1):
        return ()
    bits = _BITS - twos
    first = (total >> twos) * pow(times >> twos, -1, 1 << bits) % (1 << bits)
    return (first + (turn << bits) for turn in range(1 << twos))


def _positions(hashes: Hashes) -> Iterable[NDArray[np.int64]]:
    """The cells of each hash, one array a table."""
    for table in range(TABLES):
        with np.errstate(over="ignore"):
            mixed = _mixed(hashes + np.uint64(table + 1) * _GOLDEN)
        yield ((mixed >> np.uint64(32)) % np.uint64(TABLE_CELLS)).astype(np.int64) + table * TABLE_CELLS


def _mixed(values: Hashes) -> Hashes:
    """The finaliser of SplitMix64: each bit of the outcome depends on each bit of the value."""
    with np.errstate(over="ignore"):
        for shift, factor in _STEPS:
            values = (values ^ (values >> np.uint64(shift))) * factor
    return values ^ (values >> np.uint64(31))


def _signed(value: int) -> int:
    value &= _MASK
    return value - (1 << _BITS) if value >> (_BITS - 1) else value
