"""Observe's control loop: in each pass it judges minutes, updates alarms and stores state. One thread."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from confluent_kafka import KafkaException
from msgspec.structs import replace

from pipelines.control.observe.alarms.inputs import ALARM_MINUTES, Inputs, NodeProgress
from pipelines.control.observe.alarms.service import Alarms
from pipelines.control.observe.health.offsets import Progress
from pipelines.control.observe.health.rollout_watch import RolloutWatch
from pipelines.control.observe.health.snapshot import (
    Snapshot,
    Sources,
    dead_letters,
    rate,
    recent_cards,
)
from pipelines.control.observe.health.staleness import Staleness
from pipelines.control.observe.health.stall_detection import StallDetection, held, overdue, unread
from pipelines.control.observe.ledger.reader import Entry
from pipelines.control.observe.ledger.watermarks import OffsetsSnapshot, Watermarks
from pipelines.control.observe.metrics import ObserveMetrics
from pipelines.control.observe.retirement import Retirement
from pipelines.control.observe.scorecards.day_state import CardChange, DayState
from pipelines.control.observe.scorecards.destinations import destination_health, waiting_by_pipe
from pipelines.control.observe.scorecards.late_failures import LastDeliveries
from pipelines.control.observe.scorecards.minute_state import MinuteTracker
from pipelines.control.observe.settings import ObserveSettings
from pipelines.control.observe.skew.skew_watch import SkewWatch
from pipelines.control.observe.storage.persistence import Persistence
from pipelines.control.observe.verdicts.event_resolver import EventResolver
from pipelines.control.observe.verdicts.verdicts import ReadProgress
from shared.contracts.documents import OWN_TENANTS, TenantName
from shared.contracts.envelope import MINUTE_MS
from shared.contracts.scorecard import ALL_TENANTS
from shared.contracts.topology import CHAIN_GROUPS
from shared.runtime.clock import Clock, is_over
from shared.runtime.logging import get_logger

_log = get_logger(__name__)
_HEALTH_MINUTES: Final = 10
"""Window of the health of destinations."""

_DEAD_MINUTES: Final = 7 * 60
"""The longest window of the burn-rate alarm, and a margin."""

_PATIENT_LOOKS: Final = 4
"""Failed passes in a row after which the meter counts as behind, and nodes as unseen."""


class ControlLoop:
    """The body of the loop."""

    def __init__(  # noqa: PLR0913  # the world, piece by piece
        self,
        *,
        settings: ObserveSettings,
        tracker: MinuteTracker,
        days: DayState,
        persistence: Persistence,
        retirement: Retirement,
        skews: SkewWatch,
        progress: Progress,
        resolver: EventResolver,
        alarms: Alarms,
        rollouts: RolloutWatch,
        clock: Clock,
    ) -> None:
        self._settings = settings
        self._tracker, self._days, self._persistence = tracker, days, persistence
        self._retirement = retirement
        self._skews = skews
        self._progress, self._resolver, self._alarms = progress, resolver, alarms
        self._rollouts, self._clock = rollouts, clock
        self._watermarks = Watermarks(int(settings.settle_seconds * 1_000))
        self._patience_ms = int(_PATIENT_LOOKS * settings.look_seconds * 1_000)
        self._staleness = Staleness(clock())
        self._stall_detection, self._sources = StallDetection(self._patience_ms), Sources()
        self._deliveries = LastDeliveries()
        self._offsets_now: OffsetsSnapshot | None = None
        """The offsets of the last pass; None if the brokers did not give them."""

        self._nodes: Sequence[NodeProgress] | None = None
        """None unless the brokers gave all offsets in the last pass."""

        self._unread: Mapping[str, int] = {}
        self._overdue: Mapping[str, float] = {}
        self._corrected_ms: dict[int, int] = {}
        """When the loss of a minute was found or corrected, epoch milliseconds by minute."""

        self._saved_ms = 0
        self._latest_ms = 0
        """The last time that the clock gave, epoch milliseconds."""

        self._ledger_offset = 0
        self._looked: Snapshot | None = None
        self.metrics = ObserveMetrics(lambda: self.snapshot, alarms.open_by_kind)
        self.brokers_answered = False
        """Whether the brokers gave all offsets in the last pass."""

    @property
    def snapshot(self) -> Snapshot:
        """The snapshot of the last look; before the first look only how far behind the meter is."""
        if self._looked is not None:
            return self._looked
        return Snapshot(behind=True, behind_seconds=self._staleness.seconds(self._clock(), 0))

    def stand_by(self) -> None:
        """Say from now on that the meter is behind: there will be no look any more."""
        self._looked = replace(self.snapshot, behind=True)

    def resume(self) -> None:
        """Start from the restored state."""
        self._watermarks.resume(self._tracker.ledger.read_to_ms)
        self._staleness.resume(self._tracker.ledger.read_to_ms)
        self._corrected_ms = dict(self._alarms.losses())
        self._days.expect((ALL_TENANTS, minute) for minute in self._corrected_ms)
        self._set_back(self._now())  # the clock of an earlier process may have been ahead
        self._retirement.begin()

    def _now(self) -> int:
        """The time. All that is kept is read here: a clock that is set back must leave none in the future."""
        now_ms = self._clock()
        if now_ms < self._latest_ms:
            extra = {"seconds": (self._latest_ms - now_ms) / 1_000}
            problem = "the clock was set back: later times count as now; check how it is synchronised"
            _log.warning(problem, extra=extra)
            self._set_back(now_ms)
        self._latest_ms = now_ms
        return now_ms

    def _set_back(self, now_ms: int) -> None:
        self._tracker.ledger.set_back(now_ms)
        self._watermarks.set_back(now_ms)
        self._staleness.set_back(now_ms)
        self._stall_detection.set_back(now_ms)
        self._corrected_ms = {minute: min(at_ms, now_ms) for minute, at_ms in self._corrected_ms.items()}

    def enter(self, entries: Iterable[Entry]) -> None:
        """Apply records of the ledger."""
        ledger, now_ms = self._tracker.ledger, self._now()
        for offset, found in entries:
            self._ledger_offset = offset + 1
            if found is None:
                continue
            covered = ledger.covered.get((found.topic.value, found.partition))
            if covered is None or found.start >= covered.end:
                self.metrics.count_range(found, now_ms)
            ledger.apply(found, offset, now_ms)

    def look(self) -> None:
        """One pass: judge minutes, update the snapshot and alarms, store changes."""
        now_ms = self._now()
        self._apply_names()
        self._read_offsets(now_ms)
        passed = ReadProgress(
            marks=self._watermarks.marks,
            read_to_ms=self._watermarks.read_to_ms,
            expired_to_ms=self._tracker.ledger.expired.to_ms,
        )
        cards = self._tracker.judge(passed, now_ms)
        self.note_touched()
        changes = self._days.take(cards)
        self._note_late(changes, now_ms)
        self._persistence.load()
        self.metrics.count_changes(changes)
        self._forget_deleted(now_ms)
        for key, plan in self._tracker.plans():
            self._resolver.ask(key, plan)
        if self._retirement.full or is_over(self._saved_ms, self._settings.store_seconds * 1_000, now_ms):
            self._save(now_ms)
        self._looked = found = self._taken(now_ms)
        self._raise_alarms(found)

    def _forget_deleted(self, now_ms: int) -> None:
        catalogue = self._alarms.published()
        if catalogue.complete:  # without documents nothing says what was deleted
            self.metrics.forget_deleted(catalogue.destinations, now_ms)

    def note_touched(self) -> None:
        """Remember of the minutes that were judged last when sources sent and destinations were reached.

        The alarms `silent` and `customer` need it for longer than the minutes are in memory, or looked at.
        """
        self._sources.take(self._tracker.touched)
        self._deliveries.take(self._tracker.touched)
        self._sources.forget(self._clock())
        self._deliveries.forget(self._clock())

    def save(self) -> None:
        """Store changes when the process ends."""
        self._persistence.save()

    def _apply_names(self) -> None:
        for key, found in self._resolver.answers():
            if found is None:
                self._tracker.ask_again(key)
            else:
                self._tracker.found(key, found)

    def _read_offsets(self, now_ms: int) -> None:
        try:
            look = self._offsets(now_ms)
            ages = self._progress.ages(look) if self._staleness.fresh else {}
            due = self._progress.due(look)
        except (KafkaException, TimeoutError) as error:
            _log.warning(
                "offsets not read: the brokers did not answer; retrying", extra={"error": str(error)}
            )
            self.brokers_answered, self._offsets_now, self._nodes = False, None, None
            return
        self.brokers_answered, self._offsets_now = True, look
        self._tracker.ledger.note_expired(look.expired, look.at_ms)
        self._watermarks.take(look)
        self._staleness.take(look, ages)
        self._nodes = self._stall_detection.take(look, held(due, look.at_ms))
        self._overdue = overdue(due, look.at_ms)
        self._unread = {node: sum(unread(look, node).values()) for node in CHAIN_GROUPS}

    def _offsets(self, now_ms: int) -> OffsetsSnapshot:
        """The offsets now. After a topic was recreated they are compared with none of before."""
        ledger = self._tracker.ledger
        look = self._progress.look(ledger.offsets, now_ms)
        recreated = look.recreated
        for place in recreated:
            ledger.restart(place)
        if ledger.restarted():
            self._watermarks.restart()
        return self._progress.look(ledger.offsets, now_ms) if recreated else look

    def _save(self, now_ms: int) -> None:
        stored = self._retirement.store(
            self._offsets_now,
            now_ms,
            judged=self.note_touched,
            needed=self._corrected_ms,
            read_to_ms=self._watermarks.read_to_ms,
        )
        if stored:
            self._saved_ms = now_ms

    def _taken(self, now_ms: int) -> Snapshot:
        last = now_ms // MINUTE_MS
        behind = self._staleness.seconds(self._clock(), self._patience_ms)
        first = last - _HEALTH_MINUTES
        recent = self._tracker.between(first, last + 1)
        published = self._alarms.published().destinations.values()
        known = ((each.tenant, each.name) for each in published if each.tenant not in OWN_TENANTS)
        window_seconds = (now_ms - first * MINUTE_MS) / 1_000
        return Snapshot(
            at_ms=now_ms,
            cards=self._days.cards,
            days=self._days.day_cards,
            tenants=tuple(sorted(self._persistence.tenants - {""})),
            destinations=destination_health(
                recent, self._tracker.still_open(), known, window_seconds, self._deliveries.at_ms
            ),
            read_to_ms=self._watermarks.read_to_ms,
            behind_seconds=behind,
            behind=self._staleness.fresh or behind > self._settings.behind_seconds,
            open_minutes=self._tracker.open_minutes,
            ledger_offset=self._ledger_offset,
            waiting=self._waiting(),
            skews=self._skews.look(self._tracker.ledger.minutes, now_ms),
            unread=self._unread,
            overdue=self._overdue,
        )

    def _waiting(self) -> Mapping[TenantName, int]:
        found = waiting_by_pipe(self._tracker.still_open())
        return {pipe: waiting.events for pipe, waiting in found.items()}

    def _note_late(self, changes: Iterable[CardChange], now_ms: int) -> None:
        """Update alarms, with old minutes for as long as a loss found in them is recent."""
        self._corrected_ms |= {change.after.minute: now_ms for change in changes if change.after.lost}
        oldest = now_ms - int(2 * self._settings.alarm_open_minutes * MINUTE_MS)
        self._corrected_ms = {minute: at_ms for minute, at_ms in self._corrected_ms.items() if at_ms > oldest}

    def _raise_alarms(self, found: Snapshot) -> None:
        now_ms = found.at_ms
        last = now_ms // MINUTE_MS
        inputs = Inputs(
            at_ms=now_ms,
            cards=recent_cards(found, ALARM_MINUTES, self._corrected_ms),
            dead=tuple(dead_letters(self._tracker.between(last - _DEAD_MINUTES, last + 1))),
            destinations=found.destinations,
            nodes=self._nodes,
            sources=self._sources.recent(now_ms),
            waiting=found.waiting,
            stopped=self._rollouts.stopped(),
            skews=found.skews,
            rate=rate(found, ALL_TENANTS),
            behind_seconds=found.behind_seconds,
        )
        try:
            self._alarms.update(inputs)
        except Exception:  # the meter goes on; alarms are evaluated again in the next pass
            _log.exception("alarms not updated: unexpected error")
