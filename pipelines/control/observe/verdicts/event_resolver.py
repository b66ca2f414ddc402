"""Reads records to name lost and doubled events, on a background thread, one minute at a time."""

import queue
import threading
from collections.abc import Iterator
from typing import Final

from confluent_kafka import KafkaException

from pipelines.control.observe.ledger.event_search import record_of
from pipelines.control.observe.ledger.minute_sums import MinuteKey
from pipelines.control.observe.ledger.record_parser import ObservedEvent, events_in
from pipelines.control.observe.verdicts.event_identification import Identified, ReadPlan, find, within
from shared.kafka.offset_range_reader import OffsetRange, OffsetRangeReader
from shared.runtime.logging import get_logger

_log = get_logger(__name__)
_ANSWER_SECONDS: Final = 10.0
_TURN_SECONDS: Final = 0.5

Resolution = tuple[MinuteKey, Identified | None]
"""None if reading failed and should be requested again."""


class _StoppedError(Exception):
    """The resolver was stopped while reading."""


class EventResolver:
    """Executes read plans, or what of them reads at most `most` records."""

    def __init__(self, bootstrap: str, client_id: str, most: int) -> None:
        self._bootstrap, self._client_id, self._most = bootstrap, client_id, most
        self._plans: queue.Queue[tuple[MinuteKey, ReadPlan]] = queue.Queue()
        self._answers: queue.SimpleQueue[Resolution] = queue.SimpleQueue()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="finder", daemon=True)

    def start(self) -> "EventResolver":
        """Start the thread; returns at once."""
        self._thread.start()
        return self

    def stop(self) -> None:
        """End the thread, interrupting a read."""
        self._stopping.set()
        self._thread.join()

    def ask(self, key: MinuteKey, read_plan: ReadPlan) -> None:
        """Queue a plan, or what of it does not read too many records; if that is nothing, answer at once."""
        chosen = within(read_plan, self._most)
        if chosen is not read_plan:
            extra = {"tenant": key[0], "minute": key[1], "records": read_plan.records, "most": self._most}
            _log.warning(
                f"{_left_out(read_plan, chosen)}: more records to read than HIFI_NAMING_RECORDS", extra=extra
            )
        if chosen is None:
            self._answers.put((key, Identified()))
        else:
            self._plans.put((key, chosen))

    def answers(self) -> Iterator[Resolution]:
        """Results since the last call."""
        while not self._answers.empty():
            yield self._answers.get_nowait()

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                key, read_plan = self._plans.get(timeout=_TURN_SECONDS)
            except queue.Empty:
                continue
            try:
                self._answers.put((key, self._read(read_plan)))
            except _StoppedError:
                return
            except Exception as error:  # other minutes are read all the same
                _report(key, error)
                self._answers.put((key, None))
                self._stopping.wait(_ANSWER_SECONDS)

    def _read(self, read_plan: ReadPlan) -> Identified:
        spans = [OffsetRange(*span) for span in read_plan.spans]
        with OffsetRangeReader(self._bootstrap, self._client_id, seconds=_ANSWER_SECONDS) as reader:
            return find(read_plan, self._events(reader, spans))

    def _events(self, reader: OffsetRangeReader, spans: list[OffsetRange]) -> Iterator[ObservedEvent]:
        for message in reader.read(spans):
            if self._stopping.is_set():
                raise _StoppedError
            yield from events_in(record_of(message))


def _report(key: MinuteKey, error: Exception) -> None:
    extra = {"tenant": key[0], "minute": key[1], "error": str(error)}
    if isinstance(error, (KafkaException, TimeoutError)):
        _log.warning("events of a minute not named: reading failed; retrying", extra=extra)
    else:
        _log.error("events of a minute not named: unexpected error; retrying", extra=extra, exc_info=error)


def _left_out(whole: ReadPlan, chosen: ReadPlan | None) -> str:
    if chosen is None:
        return "events of a minute neither counted nor named"
    if chosen.wanted != whole.wanted or chosen.recounted != whole.recounted:
        return "events of a minute not named, and counted one reconciliation at a time"
    return "doubles of a minute not counted by pipe"
