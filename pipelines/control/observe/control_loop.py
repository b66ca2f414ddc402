"""One look after the other: what the ledger says is judged, told and kept. Belongs to one thread."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from confluent_kafka import KafkaException

from pipelines.control.observe.alarms.inputs import Inputs, NodeProgress
from pipelines.control.observe.alarms.service import Alarms
from pipelines.control.observe.health.offsets import Progress
from pipelines.control.observe.health.snapshot import (
    Snapshot,
    Sources,
    dead_letters,
    now,
    recent_cards,
)
from pipelines.control.observe.health.staleness import Staleness
from pipelines.control.observe.health.stall_detection import StallDetection
from pipelines.control.observe.ledger.reader import Entry
from pipelines.control.observe.ledger.watermarks import Watermarks
from pipelines.control.observe.metrics import ObserveMetrics
from pipelines.control.observe.scorecards.day_state import CardChange, DayState
from pipelines.control.observe.scorecards.destinations import destination_health, waiting_by_pipe
from pipelines.control.observe.scorecards.minute_state import MinuteTracker
from pipelines.control.observe.settings import ObserveSettings
from pipelines.control.observe.storage.persistence import Persistence
from pipelines.control.observe.verdicts.event_resolver import EventResolver
from pipelines.control.observe.verdicts.verdicts import ReadProgress
from shared.contracts.documents import OWN_TENANTS
from shared.contracts.envelope import MINUTE_MS
from shared.contracts.scorecard import ALL_TENANTS
from shared.runtime.clock import Clock
from shared.runtime.logging import get_logger

_log = get_logger(__name__)
_HEALTH_MINUTES: Final = 10
"""Over which destinations are judged."""

_ALARM_MINUTES: Final = 26 * 60
"""An event that waited in retry for a day is missed so late."""

_DEAD_MINUTES: Final = 7 * 60
"""The longest window of an alarm on slow minutes, and some."""

_HOUR_MINUTES: Final = 60
_PATIENT_LOOKS: Final = 4
"""So many looks may fail before the meter counts as behind."""


class ControlLoop:
    """The loop's body."""

    def __init__(  # noqa: PLR0913  # the world, piece by piece
        self,
        *,
        settings: ObserveSettings,
        tracker: MinuteTracker,
        days: DayState,
        keeper: Persistence,
        progress: Progress,
        finder: EventResolver,
        alarms: Alarms,
        clock: Clock,
    ) -> None:
        self._settings = settings
        self._tracker, self._days, self._keeper = tracker, days, keeper
        self._progress, self._finder, self._alarms = progress, finder, alarms
        self._clock = clock
        self._passing = Watermarks(int(settings.settle_seconds * 1_000))
        self._behind, self._movement, self._sources = Staleness(), StallDetection(), Sources()
        self._nodes: Sequence[NodeProgress] = ()
        self._lately: dict[int, int] = {}
        """Minutes whose loss was found or corrected, and when."""

        self._saved_ms = 0
        self._ledger_offset = 0
        self.snapshot = Snapshot()
        self.meters = ObserveMetrics(lambda: self.snapshot, alarms.open_by_kind)
        self.asked = False
        """Whether the brokers said how far all are at the last look."""

    def enter(self, entries: Iterable[Entry]) -> None:
        """Records of the ledger."""
        ledger, now_ms = self._tracker.ledger, self._clock()
        for offset, found in entries:
            self._ledger_offset = offset + 1
            if found is None:
                continue
            covered = ledger.covered.get((found.topic.value, found.partition))
            if covered is None or found.start >= covered.end:
                self.meters.count_range(found)
            ledger.apply(found, offset, now_ms)

    def look(self) -> None:
        """Judge, tell, keep."""
        now_ms = self._clock()
        self._take_names()
        self._ask_brokers(now_ms)
        passed = ReadProgress(marks=self._passing.marks, read_to_ms=self._passing.read_to_ms)
        cards = self._tracker.judge(passed, now_ms)
        self._sources.take(self._tracker.touched)
        changes = self._days.take(cards)
        self._note_late(changes, now_ms)
        self._keeper.load()
        self.meters.count_changes(changes)
        for key, plan in self._tracker.plans():
            self._finder.ask(key, plan)
        if now_ms - self._saved_ms >= self._settings.store_seconds * 1_000:
            self._save(now_ms)
        self.snapshot = self._taken(now_ms)
        self._raise_alarms(now_ms)

    def save(self) -> None:
        """Store what changed, at the end."""
        self._keeper.save()

    def _take_names(self) -> None:
        for key, found in self._finder.answers():
            if found is None:
                self._tracker.ask_again(key)
            else:
                self._tracker.found(key, found)

    def _ask_brokers(self, now_ms: int) -> None:
        try:
            look = self._progress.look(self._tracker.ledger.offsets, now_ms)
            ages = self._progress.ages(look) if self._behind.fresh else {}
            held = self._progress.held(look)
        except (KafkaException, TimeoutError) as error:
            _log.warning("the brokers do not say how far the nodes are", extra={"error": str(error)})
            self.asked = False
            return
        self.asked = True
        self._passing.take(look)
        self._behind.take(look, ages)
        self._nodes = self._movement.take(look, held)

    def _save(self, now_ms: int) -> None:
        if not self._keeper.save():
            return
        self._saved_ms = now_ms
        read_to = self._passing.read_to_ms // MINUTE_MS
        if read_to:
            self._keeper.forget(read_to - self._settings.keep_hours * _HOUR_MINUTES)

    def _taken(self, now_ms: int) -> Snapshot:
        last = now_ms // MINUTE_MS
        patience_ms = int(_PATIENT_LOOKS * self._settings.look_seconds * 1_000)
        behind = self._behind.seconds(self._clock(), patience_ms)
        first = last - _HEALTH_MINUTES
        recent = self._tracker.between(first, last + 1)
        published = self._alarms.published().destinations.values()
        known = ((each.tenant, each.name) for each in published if each.tenant not in OWN_TENANTS)
        window_seconds = (now_ms - first * MINUTE_MS) / 1_000
        return Snapshot(
            at_ms=now_ms,
            cards=self._days.cards,
            days=self._days.day_cards,
            tenants=tuple(sorted(self._keeper.tenants - {""})),
            destinations=destination_health(recent, self._tracker.still_open(), known, window_seconds),
            read_to_ms=self._passing.read_to_ms,
            behind_seconds=behind,
            behind=behind > self._settings.behind_seconds,
            open_minutes=self._tracker.open_minutes,
            ledger_offset=self._ledger_offset,
            waiting=self._waiting(),
        )

    def _waiting(self) -> Mapping[str, int]:
        found: dict[str, int] = {}
        for (_, pipe), waiting in waiting_by_pipe(self._tracker.still_open()).items():
            found[pipe] = found.get(pipe, 0) + waiting.events
        return found

    def _note_late(self, changes: Iterable[CardChange], now_ms: int) -> None:
        """Alarms look at old minutes too for as long as what was found there is news."""
        self._lately |= {change.after.minute: now_ms for change in changes if change.after.lost}
        oldest = now_ms - int(2 * self._settings.alarm_open_minutes * MINUTE_MS)
        self._lately = {minute: at_ms for minute, at_ms in self._lately.items() if at_ms > oldest}

    def _raise_alarms(self, now_ms: int) -> None:
        last, found = now_ms // MINUTE_MS, self.snapshot
        inputs = Inputs(
            at_ms=now_ms,
            cards=recent_cards(found, _ALARM_MINUTES, self._lately),
            dead=tuple(dead_letters(self._tracker.between(last - _DEAD_MINUTES, last + 1))),
            destinations=found.destinations,
            nodes=self._nodes,
            sources=self._sources.told(now_ms),
            waiting=found.waiting,
            rate=now(found, ALL_TENANTS, 0).rate,
            behind_seconds=found.behind_seconds,
        )
        try:
            self._alarms.update(inputs)
        except Exception:  # the meter goes on, and alarms have their own next try
            _log.exception("alarms not judged")
