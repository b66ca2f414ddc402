"""Compares all watched fields from time to time. No I/O: hours that are not in memory are asked for."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Final

from pipelines.control.observe.ledger.minute_sums import FieldKey, MinuteKey, MinuteState
from pipelines.control.observe.skew.comparison import SkewBounds, WatchedField, compared
from pipelines.control.observe.skew.watched_hours import HOUR_MINUTES, HourKey, WatchedHours
from shared.contracts.envelope import MINUTE_MS
from shared.contracts.field_counts import FieldCounts
from shared.contracts.skew import FieldSkew
from shared.runtime.clock import is_over

BASELINE_DAYS: Final = 7
_DAY_HOURS: Final = 24
_NOTHING: Final = FieldCounts()

States = Mapping[MinuteKey, MinuteState]


class SkewWatch:
    """The comparisons as of the last look. Belongs to one thread."""

    def __init__(self, hours: WatchedHours, bounds: SkewBounds, every_ms: int) -> None:
        """`every_ms`: how long comparisons stand before they are made again."""
        self._hours, self._bounds, self._every_ms = hours, bounds, every_ms
        self._looked_ms = 0
        self._found: Sequence[FieldSkew] | None = None

    def look(self, states: States, now_ms: int) -> Sequence[FieldSkew] | None:
        """Every field that was watched in this hour or the last one; None while none was compared yet.

        While hours must be loaded, the comparisons before stand.
        """
        if not is_over(self._looked_ms, self._every_ms, now_ms):
            return self._found
        hour = now_ms // MINUTE_MS // HOUR_MINUTES
        held = {(each.tenant, each.minute // HOUR_MINUTES) for each in states.values() if each.watched}
        tenants = {tenant for tenant, each in held if each in (hour, hour - 1)}
        needed = held | {(tenant, each) for tenant in tenants for each in _needed(hour)}
        self._hours.keep(needed)
        if self._hours.want(needed):
            self._looked_ms = now_ms
            found = (self._compared(tenant, hour, states) for tenant in sorted(tenants))
            self._found = list(chain.from_iterable(found))
        return self._found

    def _compared(self, tenant: str, hour: int, states: States) -> Iterator[FieldSkew]:
        """This hour's fields, and the last one's where this one has too few events yet."""
        counts = {each: self._counts((tenant, each), states) for each in _needed(hour)}
        for key in sorted({*counts[hour], *counts[hour - 1]}):
            pipe, field, kind = key
            enough = counts[hour].get(key, _NOTHING).events >= self._bounds.least_events
            chosen = hour if enough else _fuller(key, counts, hour)
            yield compared(
                WatchedField(tenant=tenant, pipe=pipe, field=field, kind=kind),
                chosen,
                counts[chosen].get(key, _NOTHING),
                [counts[each].get(key, _NOTHING) for each in _days_before(chosen)],
                self._bounds,
            )

    def _counts(self, key: HourKey, states: States) -> Mapping[FieldKey, FieldCounts]:
        return self._hours.counts(key, _of_hour(states, key))


def _fuller(key: FieldKey, counts: Mapping[int, Mapping[FieldKey, FieldCounts]], hour: int) -> int:
    """The hour with more events of a field: this one or the last."""
    return max((hour, hour - 1), key=lambda each: counts[each].get(key, _NOTHING).events)


def _days_before(hour: int) -> list[int]:
    return [hour - _DAY_HOURS * days for days in range(1, BASELINE_DAYS + 1)]


def _needed(hour: int) -> list[int]:
    return [hour, hour - 1, *_days_before(hour), *_days_before(hour - 1)]


def _of_hour(states: States, key: HourKey) -> Iterator[MinuteState]:
    tenant, hour = key
    keys = ((tenant, minute) for minute in range(hour * HOUR_MINUTES, (hour + 1) * HOUR_MINUTES))
    return (states[each] for each in keys if each in states)
