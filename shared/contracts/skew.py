"""How the watched fields of pipes compare with the days before, as observe's HTTP API has it.

Times are epoch milliseconds, shares from 0 to 1.
"""

from enum import StrEnum

from msgspec import Struct

from shared.contracts.watches import WatchKind


class SkewState(StrEnum):
    """The result of a comparison."""

    TOO_FEW = "too_few"
    """Neither this hour nor the one before has enough events yet."""

    NO_BASELINE = "no_baseline"
    """The same hour of the days before has too few events."""

    EVEN = "even"
    SKEWED = "skewed"


class SkewBar(Struct, kw_only=True, frozen=True):
    """One part of a field's values."""

    label: str
    """A text, or the span of the numbers."""

    now: float
    """Share of the values of the hour."""

    before: float
    """Share of the values of the same hour of the days before."""


class FieldSkew(Struct, kw_only=True, frozen=True):
    """A watched field of a pipe, compared."""

    tenant: str
    pipe: str
    field: str
    kind: WatchKind
    state: SkewState
    hour_ms: int
    """When the hour that is compared began."""

    events: int
    """Events in the hour."""

    days: int
    """How many of the days before had events in this hour."""

    events_before: int
    """Events in this hour of these days together."""

    psi: float | None = None
    """Population stability index; None where either side has too few values."""

    missing: float = 0.0
    """Share of the events without a value."""

    missing_before: float = 0.0
    changes: list[str] = []
    """The changes that make it skewed, in words; empty unless the state is SKEWED."""

    bars: list[SkewBar] = []
    """The values' shares: numbers by size, texts by how much their shares differ."""
