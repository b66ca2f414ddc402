"""Compares an hour of a watched field with the same hour of the days before. Pure."""

from collections.abc import Iterator, Sequence
from typing import Final

from msgspec import Struct

from pipelines.control.observe.alarms.formatting import listed, percent
from pipelines.control.observe.skew.distributions import Part, bars, median, parts, psi
from shared.contracts.envelope import HOUR_MS
from shared.contracts.field_counts import FieldCounts, summed
from shared.contracts.skew import FieldSkew, SkewState
from shared.contracts.watches import WatchKind

_NOTHING: Final = FieldCounts()


class SkewBounds(Struct, kw_only=True, frozen=True):
    """When a field counts as skewed."""

    least_events: int
    """Fewer events or values, on either side, are not compared."""

    psi: float
    missing: float
    """Difference of the shares of events without a value."""


class WatchedField(Struct, kw_only=True, frozen=True):
    """Names a watched field."""

    tenant: str
    pipe: str
    field: str
    kind: WatchKind


def compared(
    field: WatchedField, hour: int, now: FieldCounts, days: Sequence[FieldCounts], bounds: SkewBounds
) -> FieldSkew:
    """The comparison of one epoch hour with the same hour of the days before."""
    before = summed(days) if days else _NOTHING
    found = _parts(field.kind, now, before, bounds)
    index = psi(found) if found else None
    state, changes = _state(now, before, bounds), []
    if state is None:
        changes = [*_moved(field.kind, now, before, found, bounds), *_absent(now, before, bounds)]
    return FieldSkew(
        tenant=field.tenant,
        pipe=field.pipe,
        field=field.field,
        kind=field.kind,
        state=state or (SkewState.SKEWED if changes else SkewState.EVEN),
        hour_ms=hour * HOUR_MS,
        events=now.events,
        days=sum(1 for day in days if day.events),
        events_before=before.events,
        psi=None if index is None else round(index, 4),
        missing=_missing(now),
        missing_before=_missing(before),
        changes=changes,
        bars=bars(found),
    )


def _state(now: FieldCounts, before: FieldCounts, bounds: SkewBounds) -> SkewState | None:
    """Why nothing can be said; None if something can."""
    if now.events < bounds.least_events:
        return SkewState.TOO_FEW
    return SkewState.NO_BASELINE if before.events < bounds.least_events else None


def _missing(counts: FieldCounts) -> float:
    return counts.missing / counts.events if counts.events else 0.0


def _parts(kind: WatchKind, now: FieldCounts, before: FieldCounts, bounds: SkewBounds) -> Sequence[Part]:
    """The values in common parts; none where either side has too few."""
    enough = min(now.values, before.values) >= bounds.least_events
    return parts(kind, now, before) if enough else ()


def _moved(
    kind: WatchKind, now: FieldCounts, before: FieldCounts, found: Sequence[Part], bounds: SkewBounds
) -> Iterator[str]:
    index = psi(found)
    if index > bounds.psi:
        moved = _moved_numbers(now, before) if kind == "distribution" else _moved_texts(found)
        yield f"PSI {index:.2f}, above {bounds.psi:g}: {moved}"


def _absent(now: FieldCounts, before: FieldCounts, bounds: SkewBounds) -> Iterator[str]:
    missing, usual = _missing(now), _missing(before)
    if abs(missing - usual) > bounds.missing:
        yield f"missing in {percent(missing)} of the events, before in {percent(usual)}"


def _moved_numbers(now: FieldCounts, before: FieldCounts) -> str:
    return f"the median is {median(now.numbers):.3g}, before {median(before.numbers):.3g}"


def _moved_texts(found: Sequence[Part]) -> str:
    return listed(f"{part.label!r} {percent(part.now)}, before {percent(part.before)}" for part in found)
