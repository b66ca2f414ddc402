"""How each destination is doing, from receipts and from what waits. Pure."""

from collections import Counter
from collections.abc import Iterable, Mapping

import msgspec
from msgspec import Struct

from shared.contracts.receipts import Result


class Seen(Struct, frozen=True, kw_only=True):
    """What matters here of a receipt; one of another version may lack the last two."""

    destination: str
    result: Result
    minutes: list[int]
    """One for each event."""

    departed_ms: int
    status: int | None = None
    reason: str = ""
    breaker: str = ""
    lane: str = ""


class Waiting(Struct, kw_only=True):
    """Records that wait for a destination."""

    records: float = 0.0
    """Of a sample, what its records stand for."""

    oldest_ms: int | None = None
    """First try of the oldest, epoch milliseconds."""

    def add(self, first_try_ms: int, stands_for: float) -> None:
        """Count one."""
        self.records += stands_for
        self.oldest_ms = first_try_ms if self.oldest_ms is None else min(self.oldest_ms, first_try_ms)


class State(Struct, frozen=True, kw_only=True):
    """A destination at a moment."""

    name: str
    breaker: str | None
    """closed, open or half_open, as the last receipt that told it did; None where none did."""

    lane: str | None
    """fast or slow, likewise."""

    events_per_second: float
    """Delivered."""

    success: float | None
    """Share of the events tried that were delivered; None where none was tried."""

    last_error: str | None
    last_error_ms: int | None
    """When, epoch milliseconds."""

    waiting: int
    oldest_waiting_ms: int | None
    """First try of the oldest record that waits, epoch milliseconds."""


class Outlook(Struct, frozen=True, kw_only=True):
    """All destinations at a moment, and what the figures rest on."""

    at_ms: int
    window_seconds: float
    """The receipts of so long before."""

    receipts_sampled: bool
    """There were more receipts than are read: the window is shorter than asked for."""

    waiting_sampled: bool
    """More waits than is read: counts are estimates, and an older record may have escaped."""

    destinations: list[State]


_decoder = msgspec.json.Decoder(Seen)


def seen(value: bytes) -> Seen | None:
    """The receipt in a record's value; None where it holds none."""
    try:
        return _decoder.decode(value)
    except msgspec.MsgspecError:
        return None


def states(
    names: Iterable[str], receipts: Iterable[Seen], waiting: Mapping[str, Waiting], window_seconds: float
) -> list[State]:
    """A state for each name and for whatever else receipts or records name, in alphabetical order."""
    found: dict[str, list[Seen]] = {name: [] for name in (*names, *waiting)}
    for receipt in receipts:
        found.setdefault(receipt.destination, []).append(receipt)
    return [
        _state(name, found[name], waiting.get(name, Waiting()), window_seconds)
        for name in sorted(found)
        if name
    ]


def _state(name: str, receipts: list[Seen], waiting: Waiting, window_seconds: float) -> State:
    receipts = sorted(receipts, key=lambda one: one.departed_ms)
    counts: Counter[str] = Counter()
    for one in receipts:
        counts[one.result] += len(one.minutes)
    tried = counts["delivered"] + counts["retry"] + counts["dead"]
    failed = [one for one in receipts if one.result in ("retry", "dead")]
    sent = [one for one in receipts if one.result != "duplicate"]
    return State(
        name=name,
        breaker=next((one.breaker for one in reversed(sent) if one.breaker), None),
        lane=next((one.lane for one in reversed(sent) if one.lane), None),
        events_per_second=round(counts["delivered"] / window_seconds, 2) if window_seconds else 0.0,
        success=counts["delivered"] / tried if tried else None,
        last_error=failed[-1].reason if failed else None,
        last_error_ms=failed[-1].departed_ms if failed else None,
        waiting=round(waiting.records),
        oldest_waiting_ms=waiting.oldest_ms,
    )
