"""The verdict on each reconciliation of a minute: lost, doubled, waiting or under way. Pure."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from msgspec import Struct, structs

from pipelines.control.observe.ledger.minute_sums import MinuteState, Partition, Proven, StageSums
from pipelines.control.observe.ledger.reconciliation_rules import Key, Reconciliation
from pipelines.control.observe.ledger.watermarks import Watermark
from pipelines.control.observe.verdicts.set_differences import (
    NOT_COUNTED,
    Difference,
    Differences,
    RecordCounts,
    Sides,
)
from shared.contracts.envelope import MINUTE_MS
from shared.contracts.ledger import Stage
from shared.contracts.retry_times import delay_ms
from shared.contracts.topics import Topic

_ENTRIES: Final = (Stage.COLLECTED, Stage.EVENTS, Stage.UNMATCHED, Stage.FIRST, Stage.FURTHER)
"""Stages that enter a minute: it settles when no more of these arrive."""

_WITH_VERDICT: Final = tuple(
    reconciliation
    for reconciliation in Reconciliation
    if reconciliation not in (Reconciliation.DROPPED, Reconciliation.UNSENDABLE, Reconciliation.UNHOLDABLE)
)
"""Reconciliations that get a verdict; the others only explain differences."""

_MOST_KEPT: Final = 512
"""Most hashes of a reconciliation that are stored with the state: more than a sketch can name."""


class ReadProgress(Struct, kw_only=True, frozen=True):
    """How far the nodes have processed and audit has read."""

    marks: Mapping[str, Sequence[Watermark]]
    """`Watermarks.marks`."""

    read_to_ms: int
    """Every record that was in a tallied topic at this time has been tallied and applied; epoch milliseconds,
    0 if unknown. A value too early does no harm; one too late reports false doubles."""

    expired_to_ms: int = 0
    """`ExpiredRecords.to_ms`: nothing is proven of minutes that are as old."""


class Verdict(Struct, kw_only=True, frozen=True):
    """The verdict on one reconciliation that is not even."""

    lost: int = 0
    doubled: int = 0
    """Second copies that were sent; transmit recognised and dropped the others."""

    by_pipe: bool = False
    """For INGEST and ROUTE: whether `doubled` counts each pipe's copies. Until the records are read it counts
    events, and a copy that one pipe dropped hides one that another pipe sent."""

    under_way: int = 0
    waiting: int = 0
    quarantined: int = 0
    """Missing but found in quarantine."""

    extra: int = 0
    """All extra events, recognised or not."""

    dropped: int = 0
    """For TRANSMIT: second copies in its input that it dropped."""

    ids: Difference = {}
    """How often each hash is lost (positive) or doubled (negative), as far as hashes are known."""

    unread: bool = False
    """The sketch cannot be decoded: counts are net until `event_identification` has read the records."""

    open: bool = False
    """Whether the verdict may change with time alone."""

    unprovable: bool = False
    """Whether what is missing or extra may be of records that expired uncounted: only what was proven before
    counts as lost or doubled, for good."""


class Judgement(Struct, kw_only=True, frozen=True):
    """All verdicts on one tenant's minute."""

    tenant: str
    minute: int
    settled_ms: int
    """When it was settled for the first time; 0 for not yet."""

    fresh: bool
    """Whether events were collected so recently, as far as audit has read, that those under way may be in
    time. Where no collected event is tallied, it goes by when any were."""

    verdicts: Mapping[Key, Verdict]

    replay: "Judgement | None" = None
    """The judgement on the second pass of events that were processed again."""

    @property
    def settled(self) -> bool:
        """Whether everything that arrived could have been delivered by now."""
        return self.settled_ms > 0

    @property
    def final(self) -> bool:
        """Whether only new events or a reading can change it, and no longer time alone."""
        return self.settled and not self.fresh and self.closed

    @property
    def closed(self) -> bool:
        """Whether no verdict may change with time alone."""
        again = self.replay is None or (self.replay.closed and not self.replay.fresh)
        return again and not any(verdict.open for verdict in self.verdicts.values())

    @property
    def unprovable(self) -> bool:
        """Whether any verdict is."""
        again = self.replay is not None and self.replay.unprovable
        return again or any(verdict.unprovable for verdict in self.verdicts.values())

    @property
    def needs_reading(self) -> Sequence[Key]:
        """Reconciliations with records that must be read for exact figures."""
        return [key for key, verdict in self.verdicts.items() if verdict.unread]

    @property
    def proven(self) -> Mapping[Key, Proven]:
        """The proven figures by reconciliation, which later tallies must not undo for a time."""
        return {
            key: Proven(
                lost=verdict.lost,
                extra=verdict.extra,
                dropped=verdict.dropped,
                ids=dict(verdict.ids) if len(verdict.ids) <= _MOST_KEPT else {},
            )
            for key, verdict in self.verdicts.items()
            if verdict.lost or verdict.extra or verdict.dropped
        }


def judge(
    state: MinuteState,
    passed: ReadProgress,
    now_ms: int,
    settle_ms: int,
    counts: RecordCounts = NOT_COUNTED,
) -> Judgement:
    """The judgement of a minute now.

    `counts` has what `event_identification` counted from the records. A difference is used only if it
    explains every cell of the reconciliation's sketch.
    """
    judge_one = _Judge(state, passed, now_ms, settle_ms, counts)
    keys = sorted(key for key in state.sketches if key.reconciliation in _WITH_VERDICT)
    verdicts = {key: judge_one.verdict(key) for key in keys}
    # While audit catches up, output may be tallied before the input it came from.
    entered_ms = _entered(state.of(_ENTRIES)) or _entered(state.lines.values())
    quiet_ms = max(entered_ms, (state.minute + 1) * MINUTE_MS)
    settled_ms = state.settled_ms or (now_ms if passed.read_to_ms >= quiet_ms + settle_ms else 0)
    # Those that a node takes on after an outage were collected long ago, and are in time no more.
    collected_ms = _entered(state.of((Stage.COLLECTED,))) or entered_ms
    return Judgement(
        tenant=state.tenant,
        minute=state.minute,
        settled_ms=settled_ms,
        fresh=passed.read_to_ms < collected_ms + settle_ms,
        verdicts=verdicts,
        replay=None if state.replay is None else judge(state.replay, passed, now_ms, settle_ms),
    )


class _Judge:
    """Gives the verdicts on the reconciliations of one minute."""

    def __init__(
        self, state: MinuteState, passed: ReadProgress, now_ms: int, settle_ms: int, counts: RecordCounts
    ) -> None:
        self._state, self._passed = state, passed
        self._past_ms = now_ms - settle_ms
        # An event's time is ahead of its first record by half a minute at most.
        self._unprovable = passed.expired_to_ms >= (state.minute - 1) * MINUTE_MS
        self._differences = Differences(state, counts)

    def verdict(self, key: Key) -> Verdict:
        if not self._unprovable:
            done_ms = _done_ms(self._state, key, self._passed.marks)
            done = done_ms is not None and done_ms <= self._past_ms
            # Once the input of these records is tallied as well, none of them looks extra by mistake.
            even = self._passed.read_to_ms >= _entered(_written(self._state, key))
            return self._verdict(key, done, even)
        return structs.replace(self._verdict(key, False, False), open=False, unprovable=True)

    def _verdict(self, key: Key, done: bool, even: bool) -> Verdict:
        """A verdict that is closed if missing events are lost (`done`) and extra ones doubled (`even`)."""
        proven = self._state.proven.get(key, Proven())
        if not (done or even or proven.lost or proven.extra):
            # under way: too many to name, and no verdict yet
            missing = max(0, self._differences.net(key))
            return _judged(key, Sides(missing=missing, dropped=proven.dropped), Proven(), False)
        sides = self._differences.sides(key)
        known = Proven(
            lost=sides.missing if done else min(sides.missing, proven.lost),
            extra=sides.extra if even else min(sides.extra, proven.extra),
            ids=dict(sides.ids) if done and even else _confirmed(sides.ids, proven.ids, done, even),
        )
        return _judged(key, sides, known, done and even)


def _judged(key: Key, sides: Sides, proven: Proven, closed: bool) -> Verdict:
    pending = sides.missing - proven.lost
    held = key.reconciliation is Reconciliation.RETRY
    sent = sides.sent if proven.extra == sides.extra else None
    return Verdict(
        lost=proven.lost,
        doubled=max(0, proven.extra - sides.recognised) if sent is None else sent,
        by_pipe=sent is not None,
        under_way=0 if held else pending,
        waiting=pending if held else 0,
        quarantined=sides.explained,
        extra=proven.extra,
        dropped=sides.dropped,
        ids=proven.ids,
        unread=closed and not sides.known,
        open=not closed,
    )


def _confirmed(ids: Difference, proven: Difference, done: bool, even: bool) -> dict[int, int]:
    """The ids that count as lost or doubled now, or did before."""
    return {
        value: times
        for value, times in ids.items()
        if (done if times > 0 else even) or proven.get(value, 0) * times > 0
    }


def _written(state: MinuteState, key: Key) -> Iterator[StageSums]:
    """The sums on a reconciliation's minus side."""
    yield from state.of(key.balance.minus, key.pipe or None)
    for topic in key.balance.quarantined:
        yield from state.of((Stage.QUARANTINED,), topic)


def _done_ms(state: MinuteState, key: Key, marks: Mapping[str, Sequence[Watermark]]) -> int | None:
    """When the node had processed the reconciliation's input, epoch milliseconds; None if it has not.

    Without a plus side nothing can be missing, and no node will ever pass an input that does not exist: then
    it is when the minus side came.
    """
    lines = [*state.of(key.balance.input, key.input_name)]
    goal = _last_offsets(lines)
    if not goal:
        expected = any(line.count for line in state.of(key.balance.plus, key.pipe or None))
        return None if expected else _entered(_written(state, key))
    passed_ms = next(
        (
            mark.at_ms
            for mark in marks.get(key.balance.passing, ())
            if all(mark.offsets.get(place, 0) > last for place, last in goal.items())
        ),
        None,
    )
    if passed_ms is None:
        return None
    return max(
        passed_ms, _entered(lines), _due_ms(lines) if key.reconciliation is Reconciliation.RETRY else 0
    )


def _due_ms(lines: Sequence[StageSums]) -> int:
    """When the last waiting event must have left: its due time plus half of the longest retry delay.

    None is due later than that delay after it was written: a later time is that of a clock that was wrong.
    """
    topics = {topic for line in lines for topic, _ in line.spans}
    longest_ms = max((delay_ms(Topic(topic)) for topic in topics), default=0)
    said_ms = max((line.due_ms for line in lines), default=0)
    return min(said_ms, _entered(lines) + longest_ms) + longest_ms // 2


def _last_offsets(lines: Iterable[StageSums]) -> Mapping[Partition, int]:
    found: dict[Partition, int] = {}
    for line in lines:
        for place, (_, last) in line.spans.items():
            found[place] = max(last, found.get(place, last))
    return found


def _entered(lines: Iterable[StageSums]) -> int:
    return max((line.entered_ms for line in lines), default=0)
