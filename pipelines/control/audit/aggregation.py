"""Aggregates rows of Arrow batches into `ledger` records. Python works on groups of events, never on each."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any, Final

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from pipelines.control.audit.offset_ranges import MOST_ROWS, ranges
from pipelines.control.audit.schema import NUMBERS, OUTPUT_ARROW
from pipelines.control.audit.stages import STAGES, events
from pipelines.control.audit.trace_points import trace_points
from pipelines.control.audit.watched_fields import field_counts
from shared.contracts.envelope import EARLY_MS, LATE_MS
from shared.contracts.lag_histogram import Histogram, histogram
from shared.contracts.ledger import GOOD_MS, Range, Stage, Tally, encode_range, with_ids
from shared.contracts.topics import Topic
from shared.contracts.tracing import TracePoint, encode_trace_point

VALUE_BYTES: Final = 1024 * 1024
"""Largest value of a ledger record; a range with more tallies takes several records."""

_UNKNOWN: Final = -1
_LATEST_MS: Final = 10**15
"""Times written by others may be any number; differences of those up to this one do not overflow."""

_GROUPED: Final = ("stage", "tenant", "minute", "name", "destination", "replay")
_FAILED: Final = (Stage.RETRYING, Stage.DEAD)

Numbers = NDArray[np.int64]


def tally(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Rows of `schema.ROWS` to rows of `schema.OUTPUT`, in the order that `offset_ranges` needs."""
    for rows in ranges(batches):
        yield _written(parts(found(rows)), trace_points(rows))


def tallied(batches: Iterable[pa.RecordBatch], most_rows: int = MOST_ROWS) -> Iterator[Range]:
    """The ledger's values of these rows."""
    for rows in ranges(batches, most_rows):
        yield from parts(found(rows))


def found(rows: pa.Table) -> Range:
    """The tallies of a range; its rows are all of one partition."""
    offsets, topic = rows["offset"].to_numpy(), rows["topic"][0].as_py()
    return Range(
        topic=Topic(topic),
        partition=rows["partition"][0].as_py(),
        start=int(offsets[0]),
        end=int(offsets[-1]) + 1,
        newest_ms=int(rows["timestamp_ms"].to_numpy().max()),
        tallies=list(_tallies(events(topic, rows).combine_chunks())),
    )


def parts(whole: Range) -> list[Range]:
    """The range as one record, or as several if its value were too large for one."""
    if len(encode_range(whole)) <= VALUE_BYTES:
        return [whole]
    shares: list[list[Tally]] = [[]]
    room = VALUE_BYTES // 2  # the rest is for the range's own fields, and for a tally that is large
    for each in whole.tallies:
        size = len(_encoder.encode(each))
        if size > room and shares[-1]:
            shares.append([])
            room = VALUE_BYTES // 2
        shares[-1].append(each)
        room -= size
    return [
        msgspec.structs.replace(whole, part=part, parts=len(shares), tallies=share)
        for part, share in enumerate(shares)
    ]


_encoder = msgspec.msgpack.Encoder()


def _written(records: Sequence[Range], seen: Iterable[TracePoint]) -> pa.RecordBatch:
    written: list[tuple[str, bytes | None, bytes]] = [
        *((Topic.LEDGER.value, record.key, encode_range(record)) for record in records),
        *((Topic.TRACES.value, None, encode_trace_point(trace_point)) for trace_point in seen),
    ]
    columns = zip(*written, strict=True)
    return pa.RecordBatch.from_arrays(
        [pa.array(column, field.type) for column, field in zip(columns, OUTPUT_ARROW, strict=True)],
        schema=OUTPUT_ARROW,
    )


def _tallies(rows: pa.Table) -> Iterator[Tally]:
    """A tally for each group of rows that share what _GROUPED names."""
    if not rows.num_rows:
        return
    groups = _groups(rows)
    order = np.argsort(groups, kind="stable")
    bounds = [0, *(np.flatnonzero(np.diff(groups[order])) + 1).tolist(), len(order)]
    sorted_rows = _Events(rows, order)
    for start, end in pairwise(bounds):
        yield sorted_rows.tally(slice(start, end))


def _groups(rows: pa.Table) -> Numbers:
    """The number of each row's group: few, so that they sort fast."""
    codes = np.zeros(rows.num_rows, np.int64)
    for name in _GROUPED:
        coded = rows[name].combine_chunks().dictionary_encode(null_encoding="encode")
        if len(coded.dictionary) > 1:
            combined = pa.array(codes * len(coded.dictionary) + coded.indices.to_numpy())
            codes = combined.dictionary_encode().indices.to_numpy().astype(np.int64)
    return codes.astype(np.uint16) if codes.max() < 2**16 else codes  # numpy sorts these by radix


class _Events:
    """Columns of the rows in the order of their groups."""

    def __init__(self, rows: pa.Table, order: Numbers) -> None:
        self._rows = rows
        self._order = order
        self._any_watched = len(pc.list_flatten(rows["watched"])) > 0
        self._offsets = rows["offset"].to_numpy()[order]
        self._times = rows["timestamp_ms"].to_numpy()[order]
        self._known = rows["id_hash"].is_valid().to_numpy()[order]
        numbers = {name: _number(rows, name)[order] for name in NUMBERS}
        self._hashes = numbers["id_hash"].view(np.uint64)
        self._received = numbers["received_ms"]
        self._departed = numbers["departed_ms"]
        self._due = numbers["due_ms"]
        self._since, self._late = _since(numbers["time_ms"], self._received)

    def tally(self, group: slice) -> Tally:
        """The tally of the rows of a group."""
        number, tenant, minute, name, destination, replay = (self._first(group, each) for each in _GROUPED)
        stage = STAGES[number]
        times = self._times[group]
        of_stage = _OF_STAGE.get(stage, _Events._on_the_way)(self, group)
        tally = Tally(
            stage=stage,
            tenant=tenant or "",
            minute=minute,
            name=name or "",
            destination=destination or "",
            replayed=bool(replay),
            count=len(times),
            late=int(np.count_nonzero(self._late[group])),
            first=int(self._offsets[group.start]),
            last=int(self._offsets[group.stop - 1]),
            first_ms=int(times.min()),
            last_ms=int(times.max()),
            **of_stage,
        )
        return with_ids(tally, self._hashes[group][self._known[group]])

    def _first(self, group: slice, column: str) -> Any:
        return self._rows[column][self._order[group.start]].as_py()

    def _lag(self, group: slice, until: Numbers) -> Histogram:
        since = self._since[group]
        known = since != _UNKNOWN
        return histogram((until[group] - since)[known])

    def _on_the_way(self, group: slice) -> dict[str, Any]:
        return {"lag_out": self._lag(group, self._times)}

    def _copied(self, group: slice) -> dict[str, Any]:
        if not self._any_watched:
            return self._on_the_way(group)
        watched = self._rows["watched"].take(self._order[group])
        return self._on_the_way(group) | {"watched": field_counts(watched)}

    def _claimed(self, _group: slice) -> dict[str, Any]:
        """A claim counts no event of its own: the promised copy has the time at which it left."""
        return {}

    def _collected(self, group: slice) -> dict[str, Any]:
        return self._on_the_way(group) | {"lag_in": self._lag(group, self._received)}

    def _waiting(self, group: slice) -> dict[str, Any]:
        return self._on_the_way(group) | {"due_ms": max(0, int(self._due[group].max()))}

    def _answered(self, group: slice) -> dict[str, Any]:
        newest = self._order[group.stop - 1]
        said = {name: self._rows[name][newest].as_py() or "" for name in ("breaker", "lane")}
        return {"lag_out": self._lag(group, self._departed)} | said

    def _delivered(self, group: slice) -> dict[str, Any]:
        inside = self._departed[group] - self._received[group]
        good = int(np.count_nonzero(inside <= GOOD_MS))
        return self._answered(group) | {"inside": histogram(inside), "good": good}

    def _failed(self, group: slice) -> dict[str, Any]:
        return self._answered(group) | {"reasons": self._reasons(self._order[group])}

    def _dead_letter(self, group: slice) -> dict[str, Any]:
        """Reasons are those of letters that were replayed: their event has died before, and counts once."""
        kinds = self._rows["kind"].take(self._order[group]).fill_null("")
        again = pc.equal(kinds, Stage.LETTER.value).to_numpy()
        return self._on_the_way(group) | {"reasons": self._reasons(self._order[group][again])}

    def _reasons(self, order: Numbers) -> dict[str, int]:
        failed = self._rows.select(["status", "reason"]).take(pa.array(order))
        reasons: Counter[str] = Counter()
        for each in failed.group_by(["status", "reason"]).aggregate([([], "count_all")]).to_pylist():
            reasons[f"{each['status'] or '-'} {each['reason'] or ''}"] += each["count_all"]
        return dict(sorted(reasons.items()))


_OF_STAGE: Final = {
    Stage.COLLECTED: _Events._collected,
    Stage.FIRST: _Events._copied,
    Stage.FURTHER: _Events._copied,
    Stage.CLAIMED: _Events._claimed,
    Stage.WAITING: _Events._waiting,
    Stage.DEAD_LETTER: _Events._dead_letter,
    Stage.DELIVERED: _Events._delivered,
    Stage.DROPPED: _Events._answered,
    **dict.fromkeys(_FAILED, _Events._failed),
}


def _number(rows: pa.Table, name: str) -> Numbers:
    """A column of whole numbers. Ids' hashes are all 64 bits; of times, none overflows when subtracted."""
    numbers: Numbers = rows[name].fill_null(_UNKNOWN).to_numpy()
    return numbers if name == "id_hash" else np.clip(numbers, _UNKNOWN, _LATEST_MS)


def _since(time: Numbers, received: Numbers) -> tuple[Numbers, NDArray[np.bool_]]:
    """`envelope.lag_since` of each, and whether its own time lies outside the window."""
    known = time != _UNKNOWN
    on_time = known & (received - LATE_MS <= time) & (time <= received + EARLY_MS)
    return np.where(on_time, time, received), known & ~on_time
