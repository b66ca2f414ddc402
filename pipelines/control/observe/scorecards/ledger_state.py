"""All minutes that observe holds, and what of the ledger is in them."""

from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from pipelines.control.observe.ledger.minute_sums import MinuteKey, MinuteState, Partition
from pipelines.control.observe.verdicts.verdicts import Judgement
from shared.contracts.envelope import MINUTE_MS
from shared.contracts.ledger import Range, Tally


class TalliedUpTo(msgspec.Struct, frozen=True):
    """How far a partition has been tallied."""

    end: int
    """Behind the last offset."""

    newest_ms: int
    """Time of its newest record, epoch milliseconds."""


_NOTHING: Final = TalliedUpTo(end=0, newest_ms=0)
_AHEAD_MS: Final = 3_600_000
"""How far the clocks of collect and observe may lie apart."""


class LedgerPosition(msgspec.Struct, frozen=True):
    """Where to go on in the ledger; to be stored (as MessagePack) after the states."""

    offset: int = 0
    """Of the next record to read. Lower than what was read where parts of a range are still awaited."""

    covered: Mapping[Partition, TalliedUpTo] = {}
    floor: int = 0
    """Tallies of minutes before it that are not held are left out: they were forgotten."""


class _Parts:
    """The records of a range that takes several, until all are there."""

    def __init__(self, found: Range, offset: int) -> None:
        self.start, self.end = found.start, found.end
        self.offset = offset
        """Of the first of them in the ledger."""

        self._awaited = found.parts
        self._tallies: dict[int, list[Tally]] = {}

    def take(self, found: Range) -> list[Tally] | None:
        """Everything, once the last part came."""
        self._tallies[found.part] = found.tallies
        if len(self._tallies) < self._awaited:
            return None
        return [tally for part in sorted(self._tallies) for tally in self._tallies[part]]

    def fits(self, found: Range) -> bool:
        """Whether a record is of the same range, cut the same way."""
        return (self.start, self.end, self._awaited) == (found.start, found.end, found.parts)


class LedgerState:
    """Applies the ledger, each range of offsets once. Belongs to one thread."""

    def __init__(self) -> None:
        self.minutes: dict[MinuteKey, MinuteState] = {}
        self.covered: dict[Partition, TalliedUpTo] = {}
        self._parts: dict[Partition, _Parts] = {}
        self._next = 0
        self._floor = 0
        self._dirty: set[MinuteKey] = set()

    def apply(self, found: Range, offset: int, now_ms: int) -> None:
        """Take in a ledger record. One that was there already changes nothing; the parts of a range count
        when all of them are there, so that half a range, and then all of it cut otherwise, count once."""
        self._next = offset + 1
        place = (found.topic.value, found.partition)
        if found.start < self.covered.get(place, _NOTHING).end:
            return
        parts = self._parts.get(place)
        if parts is None or not parts.fits(found):
            parts = self._parts[place] = _Parts(found, offset)
        tallies = parts.take(found)
        if tallies is not None:
            del self._parts[place]
            self._enter(tallies, place, offset, now_ms)
            newest = max(self.covered.get(place, _NOTHING).newest_ms, found.newest_ms)
            self.covered[place] = TalliedUpTo(end=found.end, newest_ms=newest)

    def _enter(self, tallies: list[Tally], place: Partition, offset: int, now_ms: int) -> None:
        by_minute: dict[MinuteKey, list[Tally]] = {}
        for tally in tallies:
            by_minute.setdefault((tally.tenant, tally.minute), []).append(tally)
        for key, of_minute in by_minute.items():
            state = self._state(key, now_ms)
            if state is None or offset <= state.through:
                continue
            for tally in of_minute:
                state.add(tally, place, now_ms)
            state.through = offset
            self._dirty.add(key)

    def _state(self, key: MinuteKey, now_ms: int) -> MinuteState | None:
        """The minute's, made where it is new; None of one that was forgotten, or that collect cannot have
        stamped: a foreign record may claim any."""
        latest = (now_ms + _AHEAD_MS) // MINUTE_MS
        if key not in self.minutes and self._floor <= key[1] <= latest:
            self.minutes[key] = MinuteState(*key)
        return self.minutes.get(key)

    @property
    def position(self) -> LedgerPosition:
        """What to store beside the states."""
        offset = min([parts.offset for parts in self._parts.values()], default=self._next)
        return LedgerPosition(offset=offset, covered=dict(self.covered), floor=self._floor)

    @property
    def offsets(self) -> Mapping[Partition, int]:
        """How far audit has read."""
        return {place: covered.end for place, covered in self.covered.items()}

    def dirty(self) -> list[MinuteState]:
        """The states that changed since the last call."""
        keys, self._dirty = self._dirty, set()
        return [self.minutes[key] for key in sorted(keys) if key in self.minutes]

    def note(self, judgement: Judgement) -> None:
        """Keep what a judgement proved, so that it does not waver when more comes in."""
        key = (judgement.tenant, judgement.minute)
        state = self.minutes[key]
        proven = dict(judgement.proven)
        if (proven, judgement.settled_ms) != (state.proven, state.settled_ms):
            state.proven, state.settled_ms = proven, judgement.settled_ms
            self._dirty.add(key)

    def forget(self, before_minute: int, final: Iterable[MinuteKey]) -> list[MinuteState]:
        """Drop those of the given minutes that are older; gives them. What the ledger says of a forgotten
        minute later, such as a dead letter put back after days, is left out."""
        self._floor = max(self._floor, before_minute)
        keys = [key for key in final if key[1] < before_minute and key in self.minutes]
        self._dirty.difference_update(keys)
        return [self.minutes.pop(key) for key in keys]

    def restore(self, states: Iterable[MinuteState], position: LedgerPosition) -> None:
        """Begin with what was stored; states may be ahead of the position."""
        self.minutes = {(state.tenant, state.minute): state for state in states}
        self.covered = dict(position.covered)
        self._next, self._floor = position.offset, position.floor
        self._parts, self._dirty = {}, set()
