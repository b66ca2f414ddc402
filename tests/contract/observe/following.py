"""observe's control loop, without alarms, over a store that can fail and a ledger that it follows."""

from collections.abc import Iterator, Mapping, Sequence
from threading import Event
from typing import Any

from pipelines.control.observe.alarms.inputs import Inputs
from pipelines.control.observe.alarms.service import Alarms
from pipelines.control.observe.catch_up import CatchUp
from pipelines.control.observe.control_loop import ControlLoop
from pipelines.control.observe.health.offsets import Progress
from pipelines.control.observe.health.rollout_watch import RolloutWatch
from pipelines.control.observe.ledger.reader import Entry, LedgerReader
from pipelines.control.observe.ledger.watermarks import Offsets, OffsetsSnapshot, Partition
from pipelines.control.observe.ledger_follower import LedgerFollower
from pipelines.control.observe.retirement import Retirement
from pipelines.control.observe.settings import ObserveSettings
from pipelines.control.observe.skew.comparison import SkewBounds
from pipelines.control.observe.skew.skew_watch import SkewWatch
from pipelines.control.observe.verdicts.event_resolver import EventResolver
from shared.contracts.alarms import AlarmKind
from shared.contracts.documents import Catalogue
from shared.contracts.envelope import MINUTE_MS
from shared.contracts.ledger import Range
from shared.contracts.scorecard import MinuteCard
from shared.contracts.topology import CHAIN_GROUPS
from tests.contract.observe.meter import FIRST, STAGES, Meter

NOWHERE = "nowhere:9092"
SETTINGS: dict[str, Any] = {
    "bootstrap": NOWHERE,
    "keep_hours": 1,
    "look_seconds": 0.001,
    "settle_seconds": 1,
    "store_seconds": 3_600,
}


class GivenOffsets(Progress):
    """Topics that the nodes have read to their ends."""

    def __init__(self, ends: Offsets) -> None:
        self._ends = ends
        self.begins: dict[Partition, int] = {}
        """First offsets of partitions with expired records."""

    def look(self, covered: Offsets, now_ms: int) -> OffsetsSnapshot:
        expired = {place: at for place, at in self.begins.items() if covered.get(place, at) < at}
        read = dict.fromkeys(CHAIN_GROUPS, self._ends)
        return OffsetsSnapshot(now_ms, read, self._ends, {**covered, **expired}, expired)

    def ages(self, look: OffsetsSnapshot) -> Mapping[Partition, int]:
        return {}

    def due(self, look: OffsetsSnapshot) -> Mapping[Partition, int]:
        return {}


class NoAlarms(Alarms):
    """Alarms that never fire."""

    def __init__(self) -> None:
        """Starts no threads."""

    def losses(self) -> Mapping[int, int]:
        return {}

    def published(self) -> Catalogue:
        return Catalogue()

    def open_by_kind(self) -> dict[AlarmKind, int]:
        return {}

    def update(self, inputs: Inputs) -> None:
        pass


class GivenReader(LedgerReader):
    """Records that a test gives, a batch at a time."""

    def __init__(self, batch: int) -> None:
        super().__init__(NOWHERE, "test", 0)
        self._batch = batch
        self._written = 0
        self.left: list[Entry] = []

    def write(self, found: Sequence[Range]) -> None:
        """Write records at the end of the ledger, which was empty."""
        self.left += [Entry(offset, each) for offset, each in enumerate(found, self._written)]
        self._written += len(found)

    @property
    def ready(self) -> bool:
        return not self.left

    def take(self, seconds: float) -> Iterator[Entry]:
        batch, self.left = self.left[: self._batch], self.left[self._batch :]
        return iter(batch)


class Following:
    """An observe process without its threads that keeps an hour of minutes in memory."""

    def __init__(self, url: str, reader: LedgerReader, minutes: int, *, most_new: int) -> None:
        """`minutes`: length of the ledger once audit has counted everything.

        It had counted everything at FIRST, when it stopped.
        """
        self.meter, self.minutes = Meter(url), minutes
        self.now_ms = (FIRST + minutes + 5) * MINUTE_MS
        self.reader = reader
        self.offsets = GivenOffsets({(topic.value, 0): minutes for topic in STAGES})
        self._settings = ObserveSettings(**SETTINGS)
        self._retirement = Retirement(
            tracker=self.meter.board,
            days=self.meter.days,
            persistence=self.meter.keeper,
            keep_hours=1,
            most_new=most_new,
        )
        self.meter.board.ledger.read_to_ms = FIRST * MINUTE_MS
        self.loop = self._loop()
        self.loop.resume()
        self.follower = LedgerFollower(
            reader=reader,
            loop=self.loop,
            catch_up=self._catch_up(),
            retirement=self._retirement,
            look_seconds=self._settings.look_seconds,
            stopping=Event(),
        )

    def _loop(self) -> ControlLoop:
        return ControlLoop(
            settings=self._settings,
            tracker=self.meter.board,
            days=self.meter.days,
            persistence=self.meter.keeper,
            retirement=self._retirement,
            skews=SkewWatch(self.meter.watched, SkewBounds(least_events=1, psi=1, missing=1), 60_000),
            progress=self.offsets,
            resolver=EventResolver(NOWHERE, "test", most=0),
            alarms=NoAlarms(),
            rollouts=RolloutWatch(None, "local"),
            clock=lambda: self.now_ms,
        )

    def _catch_up(self) -> CatchUp:
        return CatchUp(
            tracker=self.meter.board,
            watched=self.meter.watched,
            retirement=self._retirement,
            offsets=self.offsets.look,
            judged=self.loop.note_touched,
            needed=(),
            clock=lambda: self.now_ms,
            store_seconds=3_600,
        )

    @property
    def held(self) -> int:
        """States in memory."""
        return len(self.meter.board.ledger.minutes)

    def shown(self) -> list[MinuteCard]:
        """All cards in memory."""
        return [card for cards in self.loop.snapshot.cards.values() for card in cards.values()]

    def stored(self, tenant: str) -> list[MinuteCard]:
        """The stored cards of a tenant."""
        return list(self.meter.tables.cards(tenant, FIRST, FIRST + self.minutes))

    def finish(self) -> None:
        """Run two passes once everything is read: events that are missing then are overdue."""
        for _ in range(2):
            self.loop.look()
            self.now_ms += 10 * MINUTE_MS
        self.loop.look()
        self.loop.save()
