"""The state built from the ledger: all minutes in memory, and how far each partition has been tallied."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import msgspec

from pipelines.control.observe.ledger.expired_records import ExpiredRecords, Uncounted
from pipelines.control.observe.ledger.minute_sums import MinuteKey, MinuteState, Partition
from pipelines.control.observe.verdicts.verdicts import Judgement
from shared.contracts.envelope import MINUTE_MS
from shared.contracts.ledger import Range, Tally
from shared.runtime.clock import is_over
from shared.runtime.logging import get_logger

_log = get_logger(__name__)


class TalliedUpTo(msgspec.Struct, frozen=True):
    """How far a partition has been tallied."""

    end: int
    """One past the last offset."""

    newest_ms: int
    """Time of its newest record, epoch milliseconds."""


_NOTHING: Final = TalliedUpTo(end=0, newest_ms=0)
AHEAD_MS: Final = 3_600_000
"""Largest accepted difference between the clocks of collect and observe."""
_REPORT_MS: Final = 60_000
"""Least time between two log lines about ranges that overlap."""


class LedgerPosition(msgspec.Struct, frozen=True):
    """Where to continue in the ledger; stored (as MessagePack) after the states."""

    offset: int = 0
    """The next record to read. Lower than what was read while parts of a range are missing."""

    covered: Mapping[Partition, TalliedUpTo] = {}
    floor: int = 0
    """Tallies of earlier minutes that are not in memory are ignored: those minutes were dropped."""

    read_to_ms: int = 0
    """`LedgerState.read_to_ms`; earlier versions did not store it."""

    expired_to_ms: int = 0
    """`ExpiredRecords.to_ms`; earlier versions did not store it."""

    dropped: Sequence[MinuteKey] = ()
    """States that are dropped and may not be deleted yet. They are stored with the position, in one item, so
    that a minute is either there with all its tenants or not at all."""


class _Parts:
    """Collects the records of a range that is split over several."""

    def __init__(self, found: Range, offset: int) -> None:
        self.start, self.end = found.start, found.end
        self.offset = offset
        """Ledger offset of the first of them."""

        self._awaited = found.parts
        self._tallies: dict[int, list[Tally]] = {}

    def take(self, found: Range) -> list[Tally] | None:
        """The whole range once its last part has arrived."""
        self._tallies[found.part] = found.tallies
        if len(self._tallies) < self._awaited:
            return None
        return [tally for part in sorted(self._tallies) for tally in self._tallies[part]]

    def fits(self, found: Range) -> bool:
        """Whether a record belongs to the same range with the same split."""
        return (self.start, self.end, self._awaited) == (found.start, found.end, found.parts)


class LedgerState:
    """Applies the ledger, each range of offsets once. Belongs to one thread."""

    def __init__(self) -> None:
        self.minutes: dict[MinuteKey, MinuteState] = {}
        self.covered: dict[Partition, TalliedUpTo] = {}
        self.read_to_ms = 0
        """`Watermarks.read_to_ms` when the minutes were judged last: what was there then is in the states."""

        self.expired = ExpiredRecords()

        self._parts: dict[Partition, _Parts] = {}
        self._next = 0
        self._floor = 0
        self._dirty: set[MinuteKey] = set()
        self._restarted: set[Partition] = set()
        self._reported_ms = 0

    def apply(self, found: Range, offset: int, now_ms: int) -> None:
        """Apply a ledger record; one that was applied before changes nothing.

        The parts of a range are applied together once all have arrived, so that half a range followed by all
        of it with another split counts once.
        """
        self._next = offset + 1
        place = (found.topic.value, found.partition)
        if _recreated(found, self.covered.get(place, _NOTHING)):
            self.restart(place)
        known = self.covered.get(place, _NOTHING)
        if found.start < known.end:
            if known.end < found.end:
                self._report_overlap(found, known, now_ms)
            return
        if found.start > known.end:
            self._note_expired(place, found.start, now_ms, found.newest_ms)
        parts = self._parts.get(place)
        if parts is None or not parts.fits(found):
            parts = self._parts[place] = _Parts(found, offset)
        tallies = parts.take(found)
        if tallies is not None:
            del self._parts[place]
            self._enter(tallies, place, offset, now_ms)
            newest = max(self.covered.get(place, _NOTHING).newest_ms, found.newest_ms)
            self.covered[place] = TalliedUpTo(end=found.end, newest_ms=newest)

    def _report_overlap(self, found: Range, known: TalliedUpTo, now_ms: int) -> None:
        """Log that a range is left out although its end was not tallied; at most once in `_REPORT_MS`."""
        if not is_over(self._reported_ms, _REPORT_MS, now_ms):
            return
        self._reported_ms = now_ms
        extra = {
            "topic": found.topic.value,
            "partition": found.partition,
            "start": found.start,
            "end": found.end,
            "tallied_to": known.end,
        }
        _log.error(
            "a range of the ledger overlaps what was tallied: its events are not counted; see docs/meter.md",
            extra=extra,
        )

    def restart(self, place: Partition) -> None:
        """Begin again with a partition of a topic that was deleted and created anew."""
        known = self.covered.pop(place, _NOTHING)
        self._parts.pop(place, None)
        self._restarted.add(place)
        extra = {"topic": place[0], "partition": place[1], "tallied_to": known.end}
        _log.error("a topic was recreated: it is tallied from its start; see docs/meter.md", extra=extra)

    def set_back(self, now_ms: int) -> None:
        """The clock was set back to now: nothing was applied later."""
        self._dirty.update(key for key, state in self.minutes.items() if state.set_back(now_ms))

    def restarted(self) -> set[Partition]:
        """The partitions of recreated topics that were found since the last call."""
        places, self._restarted = self._restarted, set()
        return places

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
        """The state of a minute, created if new.

        None for a minute that was dropped, or that collect cannot have stamped: foreign records may name any.
        """
        latest = (now_ms + AHEAD_MS) // MINUTE_MS
        if key not in self.minutes and self._floor <= key[1] <= latest:
            self.minutes[key] = MinuteState(*key)
        return self.minutes.get(key)

    @property
    def position(self) -> LedgerPosition:
        """The position in the ledger, to be stored beside the states."""
        offset = min([parts.offset for parts in self._parts.values()], default=self._next)
        return LedgerPosition(
            offset=offset,
            covered=dict(self.covered),
            floor=self._floor,
            read_to_ms=self.read_to_ms,
            expired_to_ms=self.expired.to_ms,
        )

    @property
    def offsets(self) -> Mapping[Partition, int]:
        """How far audit has read."""
        return {place: covered.end for place, covered in self.covered.items()}

    def note_expired(self, expired: Mapping[Partition, int], now_ms: int) -> None:
        """Note the partitions that begin behind what was tallied of them, with the offsets where they do."""
        for place, begin in expired.items():
            self._note_expired(place, begin, now_ms)

    def _note_expired(self, place: Partition, begin: int, now_ms: int, next_ms: int | None = None) -> None:
        if known := self.covered.get(place):
            self.expired.note(Uncounted(place, known.end, begin, known.newest_ms, next_ms), now_ms)

    def dirty(self) -> list[MinuteState]:
        """States that changed since the last call."""
        keys, self._dirty = self._dirty, set()
        return [self.minutes[key] for key in sorted(keys) if key in self.minutes]

    def note(self, judgement: Judgement) -> None:
        """Remember proven losses and doubles, so that they stay while later tallies arrive."""
        key = (judgement.tenant, judgement.minute)
        if _noted(self.minutes[key], judgement):
            self._dirty.add(key)

    def forget(self, before_minute: int, final: Iterable[MinuteKey]) -> list[MinuteState]:
        """Drop and return those of the given minutes that are older.

        Later tallies of a dropped minute, such as of a dead letter replayed after days, are ignored.
        """
        keys = [key for key in final if key[1] < before_minute and key in self.minutes]
        self._floor = floor_after(self._floor, keys)
        self._dirty.difference_update(keys)
        return [self.minutes.pop(key) for key in keys]

    def restore(self, states: Iterable[MinuteState], position: LedgerPosition) -> None:
        """Start from stored states and position; states may be ahead of the position."""
        self.minutes = {(state.tenant, state.minute): state for state in states}
        self.covered = dict(position.covered)
        self.read_to_ms = position.read_to_ms or _settled_to_ms(self.minutes.values())
        self._next, self._floor = position.offset, position.floor
        self.expired.to_ms = position.expired_to_ms
        self._parts, self._dirty = {}, set()


def floor_after(floor: int, dropped: Iterable[MinuteKey]) -> int:
    """`LedgerPosition.floor` once these minutes are dropped as well.

    No minute after them: once a clock that is ahead is set back, their events would be left out.
    """
    return max([floor, *(minute + 1 for _, minute in dropped)])


def _recreated(found: Range, known: TalliedUpTo) -> bool:
    """Whether a range is of a topic that was recreated.

    Records at offsets that were tallied before are none of them if one is newer than all that were.
    """
    return found.end <= known.end and found.newest_ms > known.newest_ms


def _settled_to_ms(states: Iterable[MinuteState]) -> int:
    """The end of the newest settled minute, 0 if there is none: audit had read further when it settled."""
    return max(((state.minute + 1) * MINUTE_MS for state in states if state.settled_ms), default=0)


def _noted(state: MinuteState, judgement: Judgement) -> bool:
    """Keep what was proven in a state; whether that is new."""
    known, found = (state.proven, state.settled_ms), (dict(judgement.proven), judgement.settled_ms)
    state.proven, state.settled_ms = found
    again = (
        state.replay is not None and judgement.replay is not None and _noted(state.replay, judgement.replay)
    )
    return again or known != found
