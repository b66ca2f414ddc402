"""The observe process: ledger reader, control loop and API."""

import threading
from collections.abc import Mapping
from contextlib import ExitStack
from functools import partial
from time import monotonic
from typing import Final

from confluent_kafka import KafkaException

from pipelines.control.observe.alarms.inputs import ALARM_MINUTES
from pipelines.control.observe.alarms.quiet_windows import AFTER_MS, windows_of_spans
from pipelines.control.observe.alarms.service import Alarms, open_alarms
from pipelines.control.observe.api.http_server import served
from pipelines.control.observe.api.queries import Queries
from pipelines.control.observe.api.routes import build
from pipelines.control.observe.catch_up import CatchUp
from pipelines.control.observe.control_loop import ControlLoop
from pipelines.control.observe.dynamodb import Store
from pipelines.control.observe.health.activity_watch import watch
from pipelines.control.observe.health.offsets import Progress
from pipelines.control.observe.health.rollout_watch import RolloutWatch
from pipelines.control.observe.ledger.reader import LedgerReader, ledger_end
from pipelines.control.observe.ledger_follower import LedgerFollower
from pipelines.control.observe.retirement import Retirement
from pipelines.control.observe.scorecards.day_state import DayState
from pipelines.control.observe.scorecards.minute_state import MinuteTracker
from pipelines.control.observe.settings import ObserveSettings
from pipelines.control.observe.skew.comparison import SkewBounds
from pipelines.control.observe.skew.skew_watch import SkewWatch
from pipelines.control.observe.skew.watched_hours import WatchedHours
from pipelines.control.observe.storage.persistence import Persistence
from pipelines.control.observe.storage.repository import Repository
from pipelines.control.observe.timeline.recorder import TimelineRecorder
from pipelines.control.observe.verdicts.event_resolver import EventResolver
from shared.contracts.envelope import MINUTE_MS
from shared.dynamodb.client import StoreError
from shared.dynamodb.rollout_store import RolloutStore
from shared.kafka.offset_range_reader import OffsetRangeReader
from shared.runtime.clock import wall_clock
from shared.runtime.logging import get_logger

_log = get_logger(__name__)
_PAUSE_SECONDS: Final = 1.0
_SEARCH_SECONDS: Final = 10.0


class Observe:
    """One observe process."""

    def __init__(self, settings: ObserveSettings, stopping: threading.Event) -> None:
        self._settings, self._stopping = settings, stopping
        self._client = f"hifi-{settings.side}-observe"
        self._store = Store(settings.store_table, settings.store_endpoint)
        self._activities = watch(
            settings.documents_table,
            settings.documents_endpoint,
            side=settings.side,
            clock=wall_clock,
            monotonic=monotonic,
        )
        self._timeline = TimelineRecorder(self._store, self._activities.register, wall_clock)
        place = (settings.documents_table, settings.documents_endpoint)
        states = None if place[0] is None else RolloutStore(place[0], place[1])
        self._rollouts = RolloutWatch(states, settings.side)
        self._alarms: Alarms = open_alarms(settings, self._store, wall_clock, self._activities.windows)
        self._tables = Repository(self._store)
        self._tracker = MinuteTracker(int(settings.settle_seconds * 1_000))
        self._days = DayState()
        self._watched = WatchedHours()
        self._persistence = Persistence(self._tables, self._tracker, self._days, self._watched)
        self._retirement = Retirement(
            tracker=self._tracker,
            days=self._days,
            persistence=self._persistence,
            keep_hours=settings.keep_hours,
        )
        self._resolver = EventResolver(settings.bootstrap, self._client, settings.naming_records)
        self._ready = {"store": False, "ledger": False, "brokers": False}

    def run(self) -> None:
        """Run until `stopping` is set.

        Raises:
            OSError: if the port is taken.
        """
        with ExitStack() as work:
            work.callback(self._alarms.close)
            work.callback(self._activities.stop)
            work.callback(self._rollouts.stop)
            self._activities.start()
            self._rollouts.start()
            progress = work.enter_context(Progress(self._settings.bootstrap, self._client))
            self._serve(self._loop(progress), progress, work)

    def _loop(self, progress: Progress) -> ControlLoop:
        return ControlLoop(
            settings=self._settings,
            tracker=self._tracker,
            days=self._days,
            persistence=self._persistence,
            retirement=self._retirement,
            skews=_skew_watch(self._settings, self._watched),
            progress=progress,
            resolver=self._resolver,
            alarms=self._alarms,
            rollouts=self._rollouts,
            clock=wall_clock,
        )

    def _catch_up(self, loop: ControlLoop, progress: Progress) -> CatchUp:
        return CatchUp(
            tracker=self._tracker,
            watched=self._watched,
            retirement=self._retirement,
            offsets=progress.look,
            judged=loop.note_touched,
            needed=self._alarms.losses(),
            clock=wall_clock,
            store_seconds=self._settings.store_seconds,
        )

    def _serve(self, loop: ControlLoop, progress: Progress, work: ExitStack) -> None:
        open_reader = partial(
            OffsetRangeReader, self._settings.bootstrap, f"{self._client}-search", seconds=_SEARCH_SECONDS
        )
        answers = Queries(
            lambda: loop.snapshot,
            self._tables,
            self._alarms,
            open_reader,
            wall_clock,
            register=self._activities.register,
            timeline=self._timeline.between,
        )
        loop.metrics.ready.set_function(lambda: all(self._ready.values()))
        app = build(answers, self._report, loop.metrics.registry, wall_clock, self._settings)
        with served(app, self._settings.host, self._settings.port) as port:
            _log.info("serving", extra={"port": port})
            position = self._restored()
            if position is not None:
                self._timeline.start(answers.stability)
                try:
                    self._follow(loop, self._catch_up(loop, progress), position)
                finally:
                    self._timeline.stop()
            if self._store.superseded:
                work.close()
                self._stand_by(loop)

    def _stand_by(self, loop: ControlLoop) -> None:
        """Do nothing more, and wait to be stopped.

        A process that exited would be started again, by a kubelet or a supervisor, and take the table over
        from the one that is meant to have it; that one would do the same.
        """
        self._ready["store"] = False
        loop.stand_by()
        _log.error(
            "another observe has begun with the same table: this one has ended its work, is not ready and "
            "sends no alarm; stop it"
        )
        self._stopping.wait()

    @property
    def _over(self) -> bool:
        return self._stopping.is_set() or self._store.superseded

    def _report(self) -> Mapping[str, bool]:
        return dict(self._ready)

    def _restored(self) -> int | None:
        """The ledger offset to start at; waits for brokers and store. None if its work is over before."""
        while not self._over:
            try:
                end = ledger_end(self._settings.bootstrap, self._client)
                self._store.ensure()
                self._store.begin()  # before anything is read: a former process can change it no more
                minute = wall_clock() // MINUTE_MS
                needed = range(minute - ALARM_MINUTES, minute + 1)
                position = self._persistence.restore(end, needed, minute)
                self._resume_windows()
                self._alarms.restore()  # last, because it sends stored notifications
            except (KafkaException, StoreError) as error:
                _log.warning(
                    "not started yet: brokers or store unavailable; retrying", extra={"error": str(error)}
                )
                self._stopping.wait(_PAUSE_SECONDS)
                continue
            self._ready["store"] = True
            return position
        return None

    def _resume_windows(self) -> None:
        """Or a restart would send the lag alarms that a release, which has just ended, keeps quiet."""
        now_ms = wall_clock()
        self._activities.resume(windows_of_spans(self._timeline.acted_since(now_ms - AFTER_MS), now_ms))

    def _follow(self, loop: ControlLoop, catch_up: CatchUp, position: int) -> None:
        loop.resume()
        reader = LedgerReader(self._settings.bootstrap, self._client, position).start()
        self._resolver.start()
        follower = LedgerFollower(
            reader=reader,
            loop=loop,
            catch_up=catch_up,
            retirement=self._retirement,
            look_seconds=self._settings.look_seconds,
            stopping=self._stopping,
        )
        try:
            while not self._over:
                if follower.turn():
                    self._ready |= {"ledger": True, "brokers": loop.brokers_answered}
        finally:
            reader.stop()
            self._resolver.stop()
            loop.save()


def _skew_watch(settings: ObserveSettings, hours: WatchedHours) -> SkewWatch:
    bounds = SkewBounds(
        least_events=settings.alarm_skew_events,
        psi=settings.alarm_skew_psi,
        missing=settings.alarm_skew_missing,
    )
    return SkewWatch(hours, bounds, int(settings.skew_seconds * 1_000))
