"""The state of one tenant's minute: sums over tallies, independent of their order."""

import zlib
from collections.abc import Iterable, Iterator
from typing import Any, Final

import msgspec

from pipelines.control.observe.ledger.reconciliation_rules import Key, Reconciliation, entries
from shared.contracts.field_counts import FieldCounts, summed
from shared.contracts.iblt import Iblt
from shared.contracts.lag_histogram import Histogram, merged
from shared.contracts.ledger import Stage, Tally
from shared.contracts.watches import WatchKind

MinuteKey = tuple[str, int]
"""Tenant and epoch minute."""

Partition = tuple[str, int]
"""Topic and partition."""

StageKey = tuple[Stage, str, str]
"""Stage, name and destination; see `Tally`."""


_HASHES: Final = 1 << 64

FieldKey = tuple[str, str, WatchKind]
"""Pipe, field and kind of a watched field."""


class StageSums(msgspec.Struct, omit_defaults=True):
    """The sum of all tallies of one stage, name and destination."""

    count: int = 0
    hash_sum: int = 0
    """Sum of the ids' hashes, modulo 2**64."""

    late: int = 0
    good: int = 0
    due_ms: int = 0
    reasons: dict[str, int] = msgspec.field(default_factory=dict)
    breaker: str = ""
    lane: str = ""
    """Both from the newest receipt."""

    last_ms: int = 0
    """Time of its newest record, epoch milliseconds."""

    entered_ms: int = 0
    """When the last tally was applied, by observe's clock; epoch milliseconds."""

    spans: dict[Partition, tuple[int, int]] = msgspec.field(default_factory=dict)
    """First and last offset, by topic and partition."""

    def add(self, tally: Tally, place: Partition, now_ms: int) -> None:
        """Add a tally of a partition."""
        self.count += tally.count
        self.hash_sum = (self.hash_sum + tally.hash_sum) % _HASHES
        self.late += tally.late
        self.good += tally.good
        self.due_ms = max(self.due_ms, tally.due_ms)
        for reason, count in tally.reasons.items():
            self.reasons[reason] = self.reasons.get(reason, 0) + count
        # ties are broken by the texts, so that the order of tallies does not matter
        if (tally.last_ms, tally.breaker, tally.lane) >= (self.last_ms, self.breaker, self.lane):
            self.breaker, self.lane = tally.breaker, tally.lane
        self.last_ms = max(self.last_ms, tally.last_ms)
        self.entered_ms = max(self.entered_ms, now_ms)
        first, last = self.spans.get(place, (tally.first, tally.last))
        self.spans[place] = min(first, tally.first), max(last, tally.last)


class Proven(msgspec.Struct, omit_defaults=True):
    """Losses and doubles of a reconciliation that were reported as proven, and what explains others."""

    lost: int = 0
    extra: int = 0
    dropped: int = 0
    """For TRANSMIT: second copies in its input that it dropped; they are not doubles, and not owed."""

    ids: dict[int, int] = msgspec.field(default_factory=dict)
    """How often each hash is lost (positive) or doubled (negative); fewer than the counts where not all ids
    are known."""


class StageLags(msgspec.Struct, omit_defaults=True):
    """Lag histograms of a stage, over all names."""

    lag_in: Histogram = msgspec.field(default_factory=dict)
    lag_out: Histogram = msgspec.field(default_factory=dict)
    inside: Histogram = msgspec.field(default_factory=dict)


Lags = dict[Stage, StageLags]


def merged_lags(parts: Iterable[Lags]) -> Lags:
    """The sum of several minutes' histograms."""
    by_stage: dict[Stage, list[StageLags]] = {}
    for part in parts:
        for stage, lags in part.items():
            by_stage.setdefault(stage, []).append(lags)
    return {
        stage: StageLags(
            lag_in=merged(each.lag_in for each in found),
            lag_out=merged(each.lag_out for each in found),
            inside=merged(each.inside for each in found),
        )
        for stage, found in by_stage.items()
    }


class IncompleteError(ValueError):
    """A part of a stored state is missing."""


class MinuteState(msgspec.Struct, omit_defaults=True):
    """One tenant's minute. Changed by `add` and by `LedgerState.note`, on one thread."""

    tenant: str
    minute: int
    lines: dict[StageKey, StageSums] = msgspec.field(default_factory=dict)
    lags: Lags = msgspec.field(default_factory=dict)
    sketches: dict[Key, Iblt] = msgspec.field(default_factory=dict)
    """Proven differences, for reconciliations that are not even."""

    proven: dict[Key, Proven] = msgspec.field(default_factory=dict)
    """The proven figures by reconciliation, which stay while newly arrived events settle."""

    watched: dict[FieldKey, FieldCounts] = msgspec.field(default_factory=dict)
    """Counts of the values in the pipes' watched fields."""

    through: int = -1
    """Offset of the last ledger record in these sums."""

    settled_ms: int = 0
    """When the minute settled for the first time, epoch milliseconds; 0 if it has not."""

    replay: "MinuteState | None" = None
    """The same of events that were processed again after a rollback: a second pass through the chain, with
    reconciliations of its own from route on."""

    def add(self, tally: Tally, place: Partition, now_ms: int) -> None:
        """Add a tally of a partition."""
        if tally.replayed:
            self._add_replayed(msgspec.structs.replace(tally, replayed=False), place, now_ms)
            return
        line = self.lines.setdefault((tally.stage, tally.name, tally.destination), StageSums())
        line.add(tally, place, now_ms)
        self._add_lags(tally)
        self._add_ids(tally)
        for (field, kind), counts in tally.watched.items():
            key = (tally.name, field, kind)
            self.watched[key] = summed((self.watched[key], counts)) if key in self.watched else counts

    def _add_replayed(self, tally: Tally, place: Partition, now_ms: int) -> None:
        if self.replay is None:
            self.replay = MinuteState(self.tenant, self.minute)
        self.replay.add(tally, place, now_ms)
        # What ingest takes does not say whether it is read again, so this reconciliation has no other side.
        self.replay.sketches.pop(Key(Reconciliation.INGEST), None)

    def set_back(self, now_ms: int) -> bool:
        """The clock was set back to now, so no tally was applied later. Whether one seemed to be."""
        later = [line for line in self.lines.values() if line.entered_ms > now_ms]
        for line in later:
            line.entered_ms = now_ms
        again = self.replay is not None and self.replay.set_back(now_ms)
        return again or bool(later)

    @property
    def replayed_whole(self) -> bool:
        """Whether all of its events were processed again, each as often as it was collected.

        Equal counts and sums of hashes prove that: the events read again are some of those collected.
        """
        if self.replay is None:
            return False
        taken, again = self.of((Stage.COLLECTED,)), self.replay.of((Stage.EVENTS,))
        return _summed(taken) == _summed(again)

    def _add_lags(self, tally: Tally) -> None:
        if tally.lag_in or tally.lag_out or tally.inside:
            held = self.lags.setdefault(tally.stage, StageLags())
            held.lag_in = merged((held.lag_in, tally.lag_in))
            held.lag_out = merged((held.lag_out, tally.lag_out))
            held.inside = merged((held.inside, tally.inside))

    def _add_ids(self, tally: Tally) -> None:
        ids: Iblt | None = None
        for key, sign in entries(tally.stage, tally.name):
            ids = tally.sketch if ids is None else ids
            held = self.sketches.pop(key, Iblt())
            left = held + ids if sign > 0 else held - ids
            if not left.empty:
                self.sketches[key] = left

    def of(self, stages: Iterable[Stage], name: str | None = None) -> Iterator[StageSums]:
        """The sums of some stages, of one name or of all names."""
        wanted = frozenset(stages)
        return (
            line
            for (stage, named, _), line in self.lines.items()
            if stage in wanted and name in (None, named)
        )

    def count(self, stage: Stage, name: str | None = None) -> int:
        """Number of events of a stage, of one name or of all names."""
        return sum(line.count for line in self.of((stage,), name))

    def encode(self) -> bytes:
        """Serialise for the store.

        A balanced minute of five pipes takes less than 20 KB. Each reconciliation that is not even adds up
        to 9 KB, so a minute may need several DynamoDB items.
        """
        return zlib.compress(_encoder.encode(self))

    @classmethod
    def decode(cls, body: bytes) -> "MinuteState":
        """Deserialise what `encode` gave.

        Raises:
            IncompleteError: if a part of the bytes is missing.
            ValueError: if they are not a minute's state.
        """
        try:
            return _decoder.decode(zlib.decompress(body))
        except zlib.error as error:
            raise IncompleteError(f"not the whole state of a minute: {error}") from error


def _summed(lines: Iterable[StageSums]) -> tuple[int, int]:
    """Count and sum of hashes."""
    found = list(lines)
    return sum(line.count for line in found), sum(line.hash_sum for line in found) % _HASHES


def _packed(value: Any) -> bytes:
    if isinstance(value, Iblt):
        return value.pack()
    raise NotImplementedError(f"{type(value).__name__} is not part of a state")


def _unpacked(kind: type, value: Any) -> Any:
    if kind is Iblt:
        return Iblt.unpack(value)
    raise NotImplementedError(f"{kind.__name__} is not part of a state")


_encoder = msgspec.msgpack.Encoder(enc_hook=_packed)
_decoder = msgspec.msgpack.Decoder(MinuteState, dec_hook=_unpacked)
