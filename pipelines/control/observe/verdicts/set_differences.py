"""Missing and surplus events of each reconciliation of a minute, by id if its sketch can be decoded. Pure."""

from collections.abc import Mapping
from typing import Final, NamedTuple

import numpy as np
from msgspec import Struct

from pipelines.control.observe.ledger.minute_sums import MinuteState
from pipelines.control.observe.ledger.reconciliation_rules import (
    DOUBLED_BEFORE_TRANSMIT,
    Key,
    Reconciliation,
)
from pipelines.control.observe.verdicts.second_copies import CopiesByHash, DoubledCopies
from shared.contracts.iblt import CELLS, Iblt
from shared.contracts.ledger import Stage

Difference = Mapping[int, int]
"""How often each hash is missing (negative: too often)."""

_NONE: Final[Difference] = {}


class RecordCounts(Struct, frozen=True):
    """Counts taken from the records: differences by reconciliation, and copies of doubled events."""

    differences: Mapping[Key, Difference] = {}
    copies: CopiesByHash = {}
    """Copies of events that ingest or route doubled, by hash."""


NOT_COUNTED: Final = RecordCounts()

_QUARANTINES: Final[Mapping[Reconciliation, Reconciliation]] = {
    Reconciliation.TRANSMIT: Reconciliation.UNSENDABLE,
    Reconciliation.RETRY: Reconciliation.UNHOLDABLE,
}


class Sides(NamedTuple):
    """The difference of a reconciliation."""

    missing: int = 0
    extra: int = 0
    ids: Difference = _NONE
    known: bool = True
    """Whether every id is known; otherwise the counts are net and there are no ids."""

    explained: int = 0
    """Missing but in quarantine; not part of `missing`."""

    recognised: int = 0
    """Extra but dropped by transmit; part of `extra`."""

    sent: int | None = None
    """Second copies of these events that were sent, over all pipes; None if they are not known by pipe."""

    dropped: int = 0
    """For TRANSMIT: second copies in its input that it dropped."""


class Differences:
    """The differences of one minute."""

    def __init__(self, state: MinuteState, counts: RecordCounts) -> None:
        self._state = state
        self._counts = counts
        self._known: dict[Key, Difference | None] = {}
        self._quarantined: dict[Reconciliation, tuple[dict[int, int] | None, int]] = {}

    def net(self, key: Key) -> int:
        """Missing minus extra events."""
        if key.reconciliation is Reconciliation.TRANSMIT:
            return self._untaken(key).count
        return self._sketch(key).count

    def sides(self, key: Key) -> Sides:
        """Missing and extra events of a reconciliation, as far as they can be known."""
        if key.reconciliation is Reconciliation.TRANSMIT:
            return self._less_quarantined(key, self._transmit(key))
        sides = _sides(
            self._claims(key) if key.reconciliation is Reconciliation.CLAIMS else self._of(key), self.net(key)
        )
        if key.reconciliation is Reconciliation.CLAIMS and self._of(Key(Reconciliation.ROUTE)) is None:
            # First copies that route lost or doubled show up here as well and cannot be distinguished yet.
            return Sides(known=False)
        if key.reconciliation in _QUARANTINES:
            sides = self._less_quarantined(key, sides)
        return self._less_recognised(key, sides) if key.reconciliation in DOUBLED_BEFORE_TRANSMIT else sides

    def _sketch(self, key: Key) -> Iblt:
        return self._state.sketches.get(key) or Iblt()

    def _of(self, key: Key) -> Difference | None:
        """The difference; None if the sketch cannot be decoded and the counts do not explain it."""
        if key not in self._known:
            sketch, counted = self._sketch(key), self._counts.differences.get(key)
            found = decoded(sketch)
            if found is None and counted is not None and _sketched(counted) == sketch:
                found = counted
            self._known[key] = found
        return self._known[key]

    def _claims(self, key: Key) -> Difference | None:
        """Leave out events with missing or surplus first copies: ROUTE reports those."""
        found, route = self._of(key), self._of(Key(Reconciliation.ROUTE))
        if found is None or route is None:
            return None
        return {value: times for value, times in found.items() if value not in route}

    def _untaken(self, key: Key) -> Iblt:
        return self._sketch(key) - self._sketch(Key(Reconciliation.DROPPED, key.pipe))

    def _transmit(self, key: Key) -> Sides:
        """Missing events, counting dropped copies as output; extra events, not counting them."""
        taken, dropped = self._of(key), self._of(Key(Reconciliation.DROPPED, key.pipe))
        untaken = self._untaken(key)
        # The two sketches remember what they hold; their difference is a new one at each look.
        left = _subtracted(taken, dropped) if taken is not None and dropped is not None else decoded(untaken)
        if taken is None and untaken.empty:
            taken = {}  # every missing event was dropped, so nothing is extra
        missing = {} if left is None else {value: times for value, times in left.items() if times > 0}
        extra = {} if taken is None else {value: times for value, times in taken.items() if times < 0}
        lacking = max(0, untaken.count) if left is None else sum(missing.values())
        surplus = max(0, -self._sketch(key).count) if taken is None else -sum(extra.values())
        again = self._sketch(key).count + surplus - lacking
        most = self._state.count(Stage.DROPPED, key.pipe)
        return Sides(
            missing=lacking,
            extra=surplus,
            ids={**missing, **extra},
            known=left is not None and taken is not None,
            dropped=min(max(0, again), most),
        )

    def _less_quarantined(self, key: Key, sides: Sides) -> Sides:
        """Quarantined records have no pipe: each explains one missing event of any pipe."""
        left, count = self._quarantine(_QUARANTINES[key.reconciliation])
        if not count or not sides.missing:
            return sides
        if left is None or not sides.known:
            explained = min(sides.missing, count)
            self._quarantined[_QUARANTINES[key.reconciliation]] = (left, count - explained)
            return sides._replace(missing=sides.missing - explained, explained=explained, known=False)
        ids = dict(sides.ids)
        for value in sorted(value for value, times in ids.items() if times > 0 and left.get(value, 0) > 0):
            taken = min(ids[value], left[value])
            ids[value] -= taken
            left[value] -= taken
        ids = {value: times for value, times in ids.items() if times}
        missing = sum(times for times in ids.values() if times > 0)
        explained = sides.missing - missing
        self._quarantined[_QUARANTINES[key.reconciliation]] = (left, count - explained)
        return sides._replace(missing=missing, explained=explained, ids=ids)

    def _quarantine(self, reconciliation: Reconciliation) -> tuple[dict[int, int] | None, int]:
        """Quarantined events not yet matched with a pipe: ids, if known, and their number."""
        if reconciliation not in self._quarantined:
            found = self._of(Key(reconciliation))
            self._quarantined[reconciliation] = (
                None if found is None else dict(found),
                self._sketch(Key(reconciliation)).count,
            )
        return self._quarantined[reconciliation]

    def _less_recognised(self, key: Key, sides: Sides) -> Sides:
        if not sides.extra:
            return sides
        if not key.pipe:
            sides = sides._replace(sent=self._sent(key, sides))
        pipe = key.pipe or None
        most = min(sides.extra, self._state.count(Stage.DROPPED, pipe))
        dropped = self._dropped(pipe)
        if not most or not sides.known or dropped is None:
            return sides._replace(recognised=most, known=sides.known and not most)
        again = ((value, -times) for value, times in sides.ids.items() if times < 0)
        recognised = sum(min(times, max(0, dropped.get(value, 0))) for value, times in again)
        return sides._replace(recognised=recognised)

    def _sent(self, key: Key, sides: Sides) -> int | None:
        """Second copies that were sent of events that ingest or route doubled.

        By pipe: a copy that one pipe dropped does not make up for one that another pipe sent.
        """
        twice = [value for value, times in sides.ids.items() if times < 0]
        if not sides.known or any(value not in self._counts.copies for value in twice):
            return None
        made = [self._doubled_copies(value, pipe) for value in twice for pipe in self._counts.copies[value]]
        if None in made:
            return None
        by_route = key.reconciliation is Reconciliation.ROUTE
        return sum(each.sent_of_route if by_route else each.sent_of_ingest for each in made if each)

    def _doubled_copies(self, value: int, pipe: str) -> DoubledCopies | None:
        """The counts of an event's copies for one pipe; None if a sketch cannot be decoded."""
        key = Key(Reconciliation.CLAIMS, pipe)
        others = (Key(Reconciliation.INGEST), Key(Reconciliation.ROUTE), Key(Reconciliation.DROPPED, pipe))
        ingest, route, dropped = (self._of(each) for each in others)
        claims, reported = self._of(key), self._claims(key)
        if ingest is None or route is None or dropped is None or claims is None or reported is None:
            return None
        further = _extra(reported, value)
        return DoubledCopies(
            written=self._counts.copies[value][pipe],
            dropped=dropped.get(value, 0),
            further=further,
            of_ingest=_extra(ingest, value),
            of_route=_extra(route, value) + _extra(claims, value) - further,
        )

    def _dropped(self, pipe: str | None) -> Difference | None:
        """How often transmit dropped each hash; None if unknown."""
        total: dict[int, int] = {}
        for key in [key for key in self._state.sketches if key.reconciliation is Reconciliation.DROPPED]:
            found = self._of(key) if pipe in (None, key.pipe) else {}
            if found is None:
                return None
            for value, times in found.items():
                total[value] = total.get(value, 0) + times
        return total


def decoded(sketch: Iblt) -> Difference | None:
    """`Iblt.decode`, skipped where it is sure to fail."""
    if abs(sketch.count) > CELLS or sketch.cells.any(axis=0).all():
        return None
    return sketch.decode()


def _sides(found: Difference | None, net: int) -> Sides:
    if found is None:
        return Sides(missing=max(0, net), extra=max(0, -net), known=False)
    missing = sum(times for times in found.values() if times > 0)
    return Sides(missing=missing, extra=missing - sum(found.values()), ids=found)


def _extra(found: Difference, value: int) -> int:
    return max(0, -found.get(value, 0))


def _subtracted(left: Difference, right: Difference) -> Difference:
    values = left.keys() | right.keys()
    return {value: left.get(value, 0) - right.get(value, 0) for value in values}


def _sketched(counted: Difference) -> Iblt:
    """The sketch without these ids."""
    return _repeated(counted, 1) - _repeated(counted, -1)


def _repeated(counted: Difference, sign: int) -> Iblt:
    held = {value: times * sign for value, times in counted.items() if times * sign > 0}
    hashes = np.fromiter(held.keys(), np.uint64, len(held))
    return Iblt.of(np.repeat(hashes, np.fromiter(held.values(), np.int64, len(held))))
