"""A control loop in memory: the test moves its clock, its ledger and its brokers."""

from collections.abc import Iterable, Mapping
from typing import Any, cast

from confluent_kafka import KafkaException

from pipelines.control.observe.alarms.service import Alarms
from pipelines.control.observe.control_loop import ControlLoop
from pipelines.control.observe.health.offsets import Progress
from pipelines.control.observe.health.rollout_watch import RolloutWatch
from pipelines.control.observe.ledger.reader import Entry
from pipelines.control.observe.ledger.watermarks import Offsets, OffsetsSnapshot
from pipelines.control.observe.retirement import Retirement
from pipelines.control.observe.scorecards.day_state import DayState
from pipelines.control.observe.scorecards.minute_state import MinuteTracker
from pipelines.control.observe.settings import ObserveSettings
from pipelines.control.observe.skew.comparison import SkewBounds
from pipelines.control.observe.skew.skew_watch import SkewWatch
from pipelines.control.observe.skew.watched_hours import WatchedHours
from pipelines.control.observe.storage.persistence import Persistence
from pipelines.control.observe.storage.repository import Repository
from pipelines.control.observe.verdicts.event_resolver import EventResolver
from shared.contracts.alarms import AlarmKind
from shared.contracts.documents import Catalogue
from shared.contracts.envelope import MINUTE_MS
from shared.contracts.ledger import Range
from shared.contracts.scorecard import ALL_TENANTS
from shared.contracts.side_weights import LOCAL
from shared.contracts.topology import CHAIN_GROUPS, INPUTS
from shared.runtime.secrets import SecretTable
from tests.unit.pipelines.control.observe.memory_store import MemoryStore

LOOK_MS = 5_000
_NEVER = 10**15


class Brokers:
    """Brokers with given offsets."""

    def __init__(self) -> None:
        self.ends: Offsets = {}
        self.committed: dict[str, Offsets] = {}
        self.away = False

    def written(self, ends: Offsets) -> None:
        """End the topics here; every node has read all of it."""
        self.ends = dict(ends)
        self.committed = {
            node: {place: end for place, end in ends.items() if place[0] in INPUTS[node]}
            for node in CHAIN_GROUPS
        }

    def look(self, covered: Offsets, now_ms: int) -> OffsetsSnapshot:
        if self.away:
            raise KafkaException("no answer")
        return OffsetsSnapshot(now_ms, self.committed, self.ends, covered)

    def ages(self, look: OffsetsSnapshot) -> Offsets:
        return {}

    def due(self, look: OffsetsSnapshot) -> Offsets:
        return {}


class NoSecrets:
    """Secrets that are wanted and missing."""

    def want(self, names: Iterable[str]) -> None:
        list(names)


class Looped:
    """An observe process without its threads, with everything in memory."""

    def __init__(self, now_ms: int, store: MemoryStore | None = None, **given: Any) -> None:
        """Continue with the state that an earlier process left in the store."""
        self.now_ms = now_ms
        self.store = MemoryStore() if store is None else store
        self.tables, self.brokers = Repository(self.store), Brokers()
        usual: dict[str, Any] = {"bootstrap": "nowhere:9092", "settle_seconds": 0, "alarm_hold_seconds": 0}
        settings = ObserveSettings(**usual | given)
        tracker = MinuteTracker(int(settings.settle_seconds * 1_000))
        days, watched = DayState(), WatchedHours()
        persistence = Persistence(self.tables, tracker, days, watched)
        retirement = Retirement(
            tracker=tracker, days=days, persistence=persistence, keep_hours=settings.keep_hours
        )
        secrets = cast(SecretTable, NoSecrets())
        self.alarms = Alarms(settings, self.store, Catalogue, secrets, self._clock)
        bounds = SkewBounds(least_events=1_000, psi=0.2, missing=0.05)
        self.loop = ControlLoop(
            settings=settings,
            tracker=tracker,
            days=days,
            persistence=persistence,
            retirement=retirement,
            skews=SkewWatch(watched, bounds, 60_000),
            progress=cast(Progress, self.brokers),
            resolver=EventResolver("nowhere:9092", "test", 1_000),
            alarms=self.alarms,
            rollouts=RolloutWatch(None, LOCAL),
            clock=self._clock,
        )
        self._closed = False
        self._offset = persistence.restore(_NEVER, (), now_ms // MINUTE_MS)
        self.alarms.restore()
        self.loop.resume()

    def _clock(self) -> int:
        return self.now_ms

    def enter(self, ranges: Iterable[Range]) -> None:
        """Add new records to the ledger."""
        entries = [Entry(offset, found) for offset, found in enumerate(ranges, self._offset)]
        self._offset += len(entries)
        self.loop.enter(entries)

    def look(self, seconds: int = 0) -> None:
        """Run a pass now, and further ones as time goes by."""
        until_ms = self.now_ms + seconds * 1_000
        self.loop.enter([])
        self.loop.look()
        while self.now_ms < until_ms:
            self.now_ms += LOOK_MS
            self.loop.enter([])
            self.loop.look()

    def open_alarms(self) -> Mapping[AlarmKind, list[str]]:
        """The subjects of open alarms in order, by kind."""
        found: dict[AlarmKind, list[str]] = {}
        for alarm in self.alarms.listed(ALL_TENANTS, is_open=True):
            found[alarm.kind] = sorted([*found.get(alarm.kind, []), alarm.subject])
        return found

    def close(self) -> None:
        """End the process and store what is pending; has no effect after the end."""
        if not self._closed:
            self._closed = True
            self.loop.save()
            self.alarms.close()
