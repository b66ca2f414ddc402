"""The counts of watched fields by hour, for minutes in memory and for dropped ones. No I/O."""

from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from pipelines.control.observe.ledger.minute_sums import FieldKey, MinuteState
from shared.contracts.field_counts import FieldCounts, summed

HOUR_MINUTES: Final = 60
HourKey = tuple[str, int]
"""Tenant and epoch hour."""


class RetiredHour(msgspec.Struct):
    """The minutes of an hour with dropped states, and the sum of their counts."""

    minutes: set[int] = msgspec.field(default_factory=set)
    fields: dict[FieldKey, FieldCounts] = msgspec.field(default_factory=dict)


class WatchedHours:
    """All hours that are in memory. Belongs to one thread."""

    def __init__(self) -> None:
        self._hours: dict[HourKey, RetiredHour] = {}
        self._wanted: set[HourKey] = set()

    def want(self, keys: Iterable[HourKey]) -> bool:
        """Ask for hours to be loaded; True if all are."""
        missing = {key for key in keys if key not in self._hours}
        self._wanted |= missing
        return not missing

    def unloaded(self) -> list[HourKey]:
        """Hours to be loaded from the store."""
        return sorted(self._wanted)

    def merge(self, key: HourKey, stored: RetiredHour) -> None:
        """Add the stored part of an hour."""
        self._hours[key] = stored
        self._wanted.discard(key)

    def retirable(self, state: MinuteState) -> bool:
        """Whether a state may be dropped; asks for its hour if it must be loaded first."""
        return not state.watched or self.want([_hour_of(state)])

    def retire(self, state: MinuteState) -> tuple[HourKey, RetiredHour]:
        """Add a state's counts to its hour, once; returns what to store before the state is dropped."""
        key = _hour_of(state)
        hour = self._hours[key]
        if state.minute not in hour.minutes:
            hour.minutes.add(state.minute)
            hour.fields = sums((hour.fields, state.watched))
        return key, hour

    def counts(self, key: HourKey, held: Iterable[MinuteState]) -> Mapping[FieldKey, FieldCounts]:
        """The counts of a loaded hour, given the states of its minutes that are still held."""
        hour = self._hours[key]
        return sums((hour.fields, *(each.watched for each in held if each.minute not in hour.minutes)))

    def keep(self, keys: Iterable[HourKey]) -> None:
        """Drop all other hours from memory; the store has them."""
        kept = set(keys)
        self._hours = {key: hour for key, hour in self._hours.items() if key in kept}
        self._wanted &= kept


def sums(parts: Iterable[Mapping[FieldKey, FieldCounts]]) -> dict[FieldKey, FieldCounts]:
    """The sum of several fields' counts."""
    found: dict[FieldKey, list[FieldCounts]] = {}
    for part in parts:
        for key, counts in part.items():
            found.setdefault(key, []).append(counts)
    return {key: summed(counts) for key, counts in found.items()}


def _hour_of(state: MinuteState) -> HourKey:
    return state.tenant, state.minute // HOUR_MINUTES
