"""What is proven of a minute: lost, doubled, waiting or only under way. Pure."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from msgspec import Struct

from pipelines.control.observe.ledger.minute_sums import MinuteState, Partition, Proven, StageSums
from pipelines.control.observe.ledger.reconciliation_rules import Key, Reconciliation
from pipelines.control.observe.ledger.watermarks import Watermark
from pipelines.control.observe.verdicts.set_differences import (
    NOT_COUNTED,
    Counted,
    Difference,
    Differences,
    Sides,
)
from shared.contracts.envelope import MINUTE_MS
from shared.contracts.ledger import Stage
from shared.contracts.topics import RETRY_DELAYS, Topic

_ENTRIES: Final = (Stage.COLLECTED, Stage.EVENTS, Stage.UNMATCHED, Stage.FIRST, Stage.FURTHER)
"""What a minute is made of: when no more of these come, it settles."""

_WITH_VERDICT: Final = tuple(
    account
    for account in Reconciliation
    if account not in (Reconciliation.DROPPED, Reconciliation.UNSENDABLE, Reconciliation.UNHOLDABLE)
)
"""The others only explain."""

_MOST_KEPT: Final = 512
"""Hashes of an account that are kept with the state: more than a sketch names."""


class ReadProgress(Struct, kw_only=True, frozen=True):
    """How far the nodes and audit have come."""

    marks: Mapping[str, Sequence[Watermark]]
    """`Watermarks.marks`."""

    read_to_ms: int
    """Every record that was in a tallied topic at this moment has been tallied and applied; epoch
    milliseconds, 0 if unknown. Too early does no harm, too late makes false doubles."""


class Verdict(Struct, kw_only=True, frozen=True):
    """Of one account that is not even."""

    lost: int = 0
    doubled: int = 0
    """Without those that transmit recognised and dropped."""

    under_way: int = 0
    waiting: int = 0
    quarantined: int = 0
    """Missing, but found in quarantine."""

    extra: int = 0
    """Too many, recognised or not."""

    dropped: int = 0
    """Of TRANSMIT: how many of what it took were second copies, and dropped."""

    ids: Difference = {}
    """Lost (positive) and doubled (negative) hashes, how often each, where they can be told."""

    unread: bool = False
    """The sketch holds too many to name: counts are net, until `naming` has read both sides' records."""

    open: bool = False
    """Whether time alone may change it."""


class Judgement(Struct, kw_only=True, frozen=True):
    """Of one tenant's minute."""

    tenant: str
    minute: int
    settled_ms: int
    """When it was settled for the first time; 0 for not yet."""

    final: bool
    """Time alone changes nothing any more: only what comes in, or a reading, does."""

    fresh: bool
    """Something came in so lately, by what audit has read, that what is under way may still be in time."""

    verdicts: Mapping[Key, Verdict]

    @property
    def settled(self) -> bool:
        """Whether all that came in by then could have been delivered."""
        return self.settled_ms > 0

    @property
    def needs_reading(self) -> Sequence[Key]:
        """Accounts to read for exact figures."""
        return [key for key, verdict in self.verdicts.items() if verdict.unread]

    @property
    def proven(self) -> Mapping[Key, Proven]:
        """What must not waver."""
        return {
            key: Proven(
                lost=verdict.lost,
                extra=verdict.extra,
                ids=dict(verdict.ids) if len(verdict.ids) <= _MOST_KEPT else {},
            )
            for key, verdict in self.verdicts.items()
            if verdict.lost or verdict.extra
        }


def judge(
    state: MinuteState,
    passed: ReadProgress,
    now_ms: int,
    settle_ms: int,
    counted: Counted = NOT_COUNTED,
) -> Judgement:
    """The judgement of a minute now.

    `counted` is what `naming` counted in the topics, by account; each is believed only if it explains the
    account's sketch to the last cell.
    """
    judge_one = _Judge(state, passed, now_ms, settle_ms, counted)
    keys = sorted(key for key in state.sketches if key.account in _WITH_VERDICT)
    verdicts = {key: judge_one.verdict(key) for key in keys}
    # Where audit catches up, what left may be entered before what came.
    entered_ms = _entered(state.of(_ENTRIES)) or _entered(state.lines.values())
    quiet_ms = max(entered_ms, (state.minute + 1) * MINUTE_MS)
    settled_ms = state.settled_ms or (now_ms if passed.read_to_ms >= quiet_ms + settle_ms else 0)
    fresh = passed.read_to_ms < entered_ms + settle_ms
    return Judgement(
        tenant=state.tenant,
        minute=state.minute,
        settled_ms=settled_ms,
        final=settled_ms > 0 and not fresh and not any(verdict.open for verdict in verdicts.values()),
        fresh=fresh,
        verdicts=verdicts,
    )


class _Judge:
    """Judges the accounts of one minute."""

    def __init__(
        self, state: MinuteState, passed: ReadProgress, now_ms: int, settle_ms: int, counted: Counted
    ) -> None:
        self._state, self._passed = state, passed
        self._past_ms = now_ms - settle_ms
        self._differences = Differences(state, counted)

    def verdict(self, key: Key) -> Verdict:
        done_ms = _done_ms(self._state, key, self._passed.marks)
        done = done_ms is not None and done_ms <= self._past_ms
        # When what these records were made of is tallied as well, none of them is too many by mistake.
        even = self._passed.read_to_ms >= _entered(_written(self._state, key))
        proven = self._state.proven.get(key, Proven())
        if not (done or even or proven.lost or proven.extra):
            # in flow: too many to name, and nothing to be said of them
            return _judged(key, Sides(missing=max(0, self._differences.net(key))), Proven(), False)
        sides = self._differences.sides(key)
        known = Proven(
            lost=sides.missing if done else min(sides.missing, proven.lost),
            extra=sides.extra if even else min(sides.extra, proven.extra),
            ids=dict(sides.ids) if done and even else _confirmed(sides.ids, proven.ids, done, even),
        )
        return _judged(key, sides, known, done and even)


def _judged(key: Key, sides: Sides, proven: Proven, closed: bool) -> Verdict:
    pending = sides.missing - proven.lost
    held = key.account is Reconciliation.RETRY
    return Verdict(
        lost=proven.lost,
        doubled=max(0, proven.extra - sides.recognised),
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
    """Of the ids, those that may be called lost or doubled now, or were before."""
    return {
        value: times
        for value, times in ids.items()
        if (done if times > 0 else even) or proven.get(value, 0) * times > 0
    }


def _written(state: MinuteState, key: Key) -> Iterator[StageSums]:
    """The lines of an account's minus side."""
    yield from state.of(key.balance.minus, key.pipe or None)
    for topic in key.balance.quarantined:
        yield from state.of((Stage.QUARANTINED,), topic)


def _done_ms(state: MinuteState, key: Key, marks: Mapping[str, Sequence[Watermark]]) -> int | None:
    """From when on the node is known to be done with the account's input; None for not yet."""
    lines = [*state.of(key.balance.input, key.input_name)]
    goal = _last_offsets(lines)
    if not goal:
        return None
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
    return max(passed_ms, _entered(lines), _due_ms(lines) if key.account is Reconciliation.RETRY else 0)


def _due_ms(lines: Sequence[StageSums]) -> int:
    """When the last of what waits must have left: its due time, and half of the longest delay among them."""
    topics = {topic for line in lines for topic, _ in line.spans}
    longest = max((RETRY_DELAYS[Topic(topic)] for topic in topics), default=None)
    half_ms = 0 if longest is None else int(longest.total_seconds() * 500)
    return max((line.due_ms for line in lines), default=0) + half_ms


def _last_offsets(lines: Iterable[StageSums]) -> Mapping[Partition, int]:
    found: dict[Partition, int] = {}
    for line in lines:
        for place, (_, last) in line.spans.items():
            found[place] = max(last, found.get(place, last))
    return found


def _entered(lines: Iterable[StageSums]) -> int:
    return max((line.entered_ms for line in lines), default=0)
