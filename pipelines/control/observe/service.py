"""The parts of the observe process, put together."""

import threading
from collections.abc import Mapping
from functools import partial
from time import monotonic
from typing import Final

from confluent_kafka import KafkaException

from pipelines.control.observe.alarms.service import Alarms, open_alarms
from pipelines.control.observe.api.http_server import served
from pipelines.control.observe.api.queries import Queries
from pipelines.control.observe.api.routes import build
from pipelines.control.observe.control_loop import ControlLoop
from pipelines.control.observe.dynamodb import Store
from pipelines.control.observe.health.offsets import Progress
from pipelines.control.observe.ledger.reader import LedgerReader, ledger_end
from pipelines.control.observe.scorecards.day_state import DayState
from pipelines.control.observe.scorecards.minute_state import MinuteTracker
from pipelines.control.observe.settings import ObserveSettings
from pipelines.control.observe.storage.persistence import Persistence
from pipelines.control.observe.storage.repository import Repository
from pipelines.control.observe.verdicts.event_resolver import EventResolver
from shared.dynamodb.client import StoreError
from shared.kafka.offset_range_reader import OffsetRangeReader
from shared.runtime.clock import wall_clock
from shared.runtime.logging import get_logger

_log = get_logger(__name__)
_PAUSE_SECONDS: Final = 1.0
_TURN_SECONDS: Final = 0.5
_SEARCH_SECONDS: Final = 10.0


class Observe:
    """One observe process."""

    def __init__(self, settings: ObserveSettings, stopping: threading.Event) -> None:
        self._settings, self._stopping = settings, stopping
        self._client = f"hifi-{settings.side}-observe"
        self._store = Store(settings.store_table, settings.store_endpoint)
        self._alarms: Alarms = open_alarms(settings, self._store, wall_clock)
        self._tables = Repository(self._store)
        self._tracker = MinuteTracker(int(settings.settle_seconds * 1_000))
        self._days = DayState()
        self._keeper = Persistence(self._tables, self._tracker, self._days)
        self._finder = EventResolver(settings.bootstrap, self._client, settings.naming_records)
        self._ready = {"store": False, "ledger": False, "brokers": False}

    def run(self) -> None:
        """Measure and serve until stopping.

        Raises:
            OSError: if the port is taken.
        """
        try:
            with Progress(self._settings.bootstrap, self._client) as progress:
                self._serve(self._watch(progress))
        finally:
            self._alarms.close()

    def _watch(self, progress: Progress) -> ControlLoop:
        return ControlLoop(
            settings=self._settings,
            tracker=self._tracker,
            days=self._days,
            keeper=self._keeper,
            progress=progress,
            finder=self._finder,
            alarms=self._alarms,
            clock=wall_clock,
        )

    def _serve(self, watch: ControlLoop) -> None:
        open_reader = partial(
            OffsetRangeReader, self._settings.bootstrap, f"{self._client}-search", seconds=_SEARCH_SECONDS
        )
        answers = Queries(lambda: watch.snapshot, self._tables, self._alarms, open_reader, wall_clock)
        watch.meters.ready.set_function(lambda: all(self._ready.values()))
        app = build(answers, self._report, watch.meters.registry, wall_clock)
        with served(app, self._settings.host, self._settings.port) as port:
            _log.info("serving", extra={"port": port})
            position = self._restored()
            if position is not None:
                self._follow(watch, position)

    def _report(self) -> Mapping[str, bool]:
        return dict(self._ready)

    def _restored(self) -> int | None:
        """Where to go on in the ledger; waits for brokers and store; None where it is to stop before."""
        while not self._stopping.is_set():
            try:
                end = ledger_end(self._settings.bootstrap, self._client)
                self._store.ensure()
                position = self._keeper.restore(end)
                self._alarms.restore()  # the last, since it sends what was not taken
            except (KafkaException, StoreError) as error:
                _log.warning("cannot begin yet", extra={"error": str(error)})
                self._stopping.wait(_PAUSE_SECONDS)
                continue
            self._ready["store"] = True
            return position
        return None

    def _follow(self, watch: ControlLoop, position: int) -> None:
        reader = LedgerReader(self._settings.bootstrap, self._client, position).start()
        self._finder.start()
        looked = -self._settings.look_seconds
        try:
            while not self._stopping.is_set():
                watch.enter(reader.take(_TURN_SECONDS))
                if not reader.ready and not self._ready["ledger"]:
                    continue  # no judging by half a ledger: it would only be done again
                if monotonic() - looked >= self._settings.look_seconds:
                    looked = monotonic()
                    watch.look()
                    self._ready |= {"ledger": True, "brokers": watch.asked}
        finally:
            reader.stop()
            self._finder.stop()
            watch.save()
