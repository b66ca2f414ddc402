"""Every minute in memory: its state, judgement and card. No I/O."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from typing import Final

from pipelines.control.observe.ledger.minute_sums import MinuteKey, MinuteState
from pipelines.control.observe.ledger.reconciliation_rules import Key
from pipelines.control.observe.scorecards.ledger_state import LedgerState
from pipelines.control.observe.scorecards.minute_cards import JudgedMinute, minute_card, total_card
from pipelines.control.observe.verdicts.event_identification import Identified, ReadPlan, combined, read_plan
from pipelines.control.observe.verdicts.second_copies import COPIES
from pipelines.control.observe.verdicts.verdicts import Judgement, ReadProgress, judge
from shared.contracts.documents import WARM_UP
from shared.contracts.scorecard import MinuteCard

_NOTHING: Final = Identified()

Asked = tuple[Mapping[Key, Mapping[int, int]], frozenset[Key], frozenset[int], int]
"""The last read plan's requests: hashes to name, reconciliations to count, events of which to count the
copies, and the version of what is counted."""


class MinuteTracker:
    """Judges minutes and makes their cards. Belongs to one thread."""

    def __init__(self, settle_ms: int) -> None:
        self.ledger = LedgerState()
        self.judged: dict[MinuteKey, JudgedMinute] = {}
        self.findings: dict[MinuteKey, Identified] = {}
        self.touched: list[JudgedMinute] = []
        """Minutes judged by the last call of `judge`."""

        self._through: dict[MinuteKey, int] = {}
        """Version (`MinuteState.through`) of the state that was judged last."""

        self._settle_ms = settle_ms
        self._open: set[MinuteKey] = set()
        self._unsaved: set[MinuteKey] = set()
        self._asked: dict[MinuteKey, Asked] = {}
        self._reading: Counter[MinuteKey] = Counter()
        """How many of its plans were given and not yet answered, by `found` or `ask_again`."""

        self._fresh: set[MinuteKey] = set()
        """Judged since `plans` was called."""

        self._new: set[MinuteKey] = set()
        """Minutes with findings that are not stored yet."""

        self._tenants: dict[int, set[str]] = {}

    def begin(self, findings: Mapping[MinuteKey, Identified]) -> None:
        """Mark every restored minute to be judged; findings of other minutes are left out."""
        self.findings = {key: found for key, found in findings.items() if key in self.ledger.minutes}
        self._open.update(self.ledger.minutes)

    def judge(self, passed: ReadProgress, now_ms: int) -> list[MinuteCard]:
        """Judge minutes that changed or may change with time; returns the cards of the ones that changed."""
        self.ledger.read_to_ms = passed.read_to_ms
        self._open.update(self._changed())
        judged = {key: self._judgement(key, passed, now_ms) for key in sorted(self._open)}
        return self._enter(judged)

    def judge_even(self, before_minute: int, now_ms: int) -> list[MinuteCard]:
        """Judge earlier minutes in which nothing is missing or extra for any tenant; returns their cards.

        For minutes with all collected events tallied, while it is unknown how far the nodes are: what is
        even then needs no proof. Other minutes wait for `judge`.
        """
        self._open.update(self._changed())
        passed = ReadProgress(marks={}, read_to_ms=now_ms + self._settle_ms)
        old = sorted((key for key in self._open if key[1] < before_minute), key=lambda key: (key[1], key[0]))
        even: dict[MinuteKey, Judgement] = {}
        for _, keys in groupby(old, key=lambda key: key[1]):
            minute = {key: self._judgement(key, passed, now_ms) for key in keys}
            if all(map(_even, minute.values())):
                even |= minute
        return self._enter(even)

    def _enter(self, judged: Mapping[MinuteKey, Judgement]) -> list[MinuteCard]:
        keys = list(judged)
        self._open.difference_update(keys)
        changed = [key for key, judgement in judged.items() if self._note(key, judgement)]
        self.touched = [self.judged[key] for key in keys]
        self._changed()
        minutes = {minute for _, minute in changed}
        return [self._card(key) for key in changed] + [self._total(minute) for minute in sorted(minutes)]

    def _changed(self) -> set[MinuteKey]:
        keys = {(state.tenant, state.minute) for state in self.ledger.dirty()}
        self._unsaved |= keys
        return keys

    def _note(self, key: MinuteKey, judgement: Judgement) -> bool:
        """Keep a judgement; whether anything on its card may have changed."""
        state, found = self.ledger.minutes[key], self.findings.get(key, _NOTHING)
        before = (self._through.get(key), self.judged.get(key))
        self.ledger.note(judgement)
        self.judged[key] = JudgedMinute(state, judgement, found.named)
        self._through[key] = state.through
        self._tenants.setdefault(key[1], set()).add(key[0])
        self._fresh.add(key)
        if not judgement.final:
            self._open.add(key)
        return before != (self._through[key], self.judged[key])

    def _judgement(self, key: MinuteKey, passed: ReadProgress, now_ms: int) -> Judgement:
        counts = self.findings.get(key, _NOTHING).counts
        return judge(self.ledger.minutes[key], passed, now_ms, self._settle_ms, counts)

    def _card(self, key: MinuteKey) -> MinuteCard:
        return minute_card(*self.judged[key])

    def _total(self, minute: int) -> MinuteCard:
        tenants = sorted(self._tenants[minute] - {WARM_UP})  # the warm-up's lags count for no tenant
        return total_card(minute, (self.judged[tenant, minute] for tenant in tenants))

    @property
    def open_minutes(self) -> int:
        """Number of minutes that are not settled."""
        return len(self._open)

    def between(self, first: int, last: int) -> Iterator[JudgedMinute]:
        """Judged minutes from `first` to `last`, both included."""
        for minute in range(first, last + 1):
            for tenant in sorted(self._tenants.get(minute, ())):
                yield self.judged[tenant, minute]

    def still_open(self) -> Iterator[JudgedMinute]:
        """Minutes that are not settled."""
        return (self.judged[key] for key in self._open if key in self.judged)

    def plans(self) -> Iterator[tuple[MinuteKey, ReadPlan]]:
        """Read plans for events to be named; each plan is given once per state of its minute.

        A minute stays in memory until each of its plans is answered.
        """
        for key in sorted(self._fresh):
            state, judgement, _ = self.judged[key]
            wanted = read_plan(state, judgement)
            if wanted is None:
                self._asked.pop(key, None)
                continue
            asked: Asked = (wanted.wanted, wanted.recounted, wanted.copied, _version(state, wanted))
            if asked != self._asked.get(key):
                self._asked[key] = asked
                self._reading[key] += 1
                yield key, wanted
        self._fresh.clear()

    def changed_findings(self) -> list[tuple[MinuteKey, Identified]]:
        """Findings since the last call, to be stored."""
        keys, self._new = self._new, set()
        return [(key, self.findings[key]) for key in sorted(keys) if key in self.findings]

    def found(self, key: MinuteKey, found: Identified) -> bool:
        """Apply what was read; False if the minute is no longer in memory."""
        self._answered(key)
        if key not in self.ledger.minutes:
            return False
        self._new.add(key)
        self.findings[key] = combined(self.findings.get(key, _NOTHING), found)
        self._open.add(key)
        return True

    def ask_again(self, key: MinuteKey) -> None:
        """Plan the reading of a minute again, after it failed."""
        self._answered(key)
        self._asked.pop(key, None)
        if key in self.ledger.minutes:
            self._open.add(key)

    def _answered(self, key: MinuteKey) -> None:
        self._reading -= Counter((key,))  # a count of 0 is left out

    def unsaved(self) -> list[MinuteState]:
        """States that changed since the last call, those that were not judged since among them.

        They have to be stored before the ledger's position: what that covers is not read again.
        """
        self._open.update(self._changed())
        keys, self._unsaved = self._unsaved, set()
        return [self.ledger.minutes[key] for key in sorted(keys) if key in self.ledger.minutes]

    def forgettable(self, before_minute: int) -> list[MinuteKey]:
        """Earlier minutes that are settled, read and stored for every tenant."""
        busy = {minute for _, minute in self._open | self._unsaved | self._reading.keys()}
        old = (minute for minute in self._tenants if minute < before_minute and minute not in busy)
        return [(tenant, minute) for minute in sorted(old) for tenant in sorted(self._tenants[minute])]

    def forget(self, before_minute: int, keys: Iterable[MinuteKey]) -> None:
        """Drop minutes from memory."""
        for state in self.ledger.forget(before_minute, keys):
            key = (state.tenant, state.minute)
            self.judged.pop(key, None)
            self._through.pop(key, None)
            self.findings.pop(key, None)
            self._asked.pop(key, None)
            self._fresh.discard(key)
            self._tenants[state.minute].discard(state.tenant)
            if not self._tenants[state.minute]:
                del self._tenants[state.minute]


def _version(state: MinuteState, plan: ReadPlan) -> int:
    """A number that changes when a plan's counts are out of date."""
    if plan.recounted:
        return state.through
    return sum(state.count(stage) for stage in COPIES) if plan.copied else 0


def _even(judgement: Judgement) -> bool:
    """Whether no reconciliation has anything missing or extra."""
    again = judgement.replay is None or _even(judgement.replay)
    return again and not judgement.verdicts
