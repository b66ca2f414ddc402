"""The doing: sightings read, held, told to the receiver as spans, and only then marked as read."""

import threading
from collections.abc import Iterable
from typing import Final, cast

import msgspec
from confluent_kafka import Consumer, KafkaException, Message, TopicPartition

from pipelines.control.trace.metrics import TraceMetrics
from pipelines.control.trace.otlp import OtlpExporter
from pipelines.control.trace.span_buffer import Partition, SpanBuffer, Trace
from pipelines.control.trace.spans import spans
from shared.contracts.topology import INPUTS
from shared.contracts.tracing import TracePoint, decode_trace_point
from shared.kafka.consumer import readable
from shared.runtime.clock import Clock
from shared.runtime.logging import get_logger

_log = get_logger(__name__)
_LONGEST_SECONDS: Final = 0.5
"""Between two looks at what is due and at the stop signal."""

_MOST_MESSAGES: Final = 1_000
_PAUSE_SECONDS: Final = 1.0


class TraceService:
    """A member of the group, on its caller's thread."""

    def __init__(  # noqa: PLR0913  # the world, piece by piece
        self,
        *,
        consumer: Consumer,
        exporter: OtlpExporter,
        gathering: SpanBuffer,
        clock: Clock,
        meters: TraceMetrics,
        stopping: threading.Event,
    ) -> None:
        self._consumer = consumer
        self._exporter = exporter
        self._gathering = gathering
        self._clock = clock
        self._metrics = meters
        self._stopping = stopping
        self._committed: dict[Partition, int] = {}
        self._paused = False
        self.joined = False
        """Whether the group has given this member its part, which may be none."""

        self.heard = True
        """Whether the receiver acknowledged the last portion."""

    def run(self) -> None:
        """Go on until stopping, then leave the group; what is still held is read again.

        Raises:
            KafkaException: if the client cannot go on.
        """
        topics = [str(topic) for topic in INPUTS["trace"]]
        self._consumer.subscribe(topics, on_assign=self._assigned, on_revoke=self._revoked)
        try:
            while not self._stopping.is_set():
                self.turn()
        finally:
            self._commit()
            self._consumer.close()
            self._exporter.close()

    def turn(self) -> None:
        """Read what came, tell what is due, mark as read what was told."""
        for message in self._consumer.consume(_MOST_MESSAGES, timeout=_LONGEST_SECONDS):
            self._take(message)
        due = self._gathering.due(self._clock())
        if due:
            self._tell(due)
        self._commit()
        self._hold_back()

    def _take(self, message: Message) -> None:
        if not readable(message):
            return
        sighting = self._sighting(message)
        place = cast(str, message.topic()), cast(int, message.partition())
        self._gathering.take(place, cast(int, message.offset()), sighting, self._clock())

    def _sighting(self, message: Message) -> TracePoint | None:
        try:
            return decode_trace_point(message.value() or b"")
        except msgspec.MsgspecError as error:
            self._metrics.unreadable.inc()
            _log.warning("not a sighting", extra={"offset": message.offset(), "error": str(error)})
            return None

    def _tell(self, due: list[Trace]) -> None:
        told = [span for trace in due for span in spans(trace.sightings)]
        self.heard = not told or self._exporter.export(told)
        if self.heard:
            self._gathering.done(due)
            self._metrics.exported.inc(len(told))
        else:
            self._metrics.refused.inc()
            _log.warning("spans not acknowledged, to be sent again", extra={"spans": len(told)})
            self._stopping.wait(_PAUSE_SECONDS)

    def _commit(self) -> None:
        """Mark as read what was told; a failure costs no more than spans told twice, which are the same."""
        positions = self._gathering.positions()
        ends = [TopicPartition(*at, n) for at, n in positions.items() if self._committed.get(at) != n]
        if not ends:
            return
        try:
            self._consumer.commit(offsets=ends, asynchronous=False)
        except KafkaException as error:
            _log.info("not marked as read yet", extra={"error": error.args[0].str()})
        else:
            self._committed = positions

    def _hold_back(self) -> None:
        """Leave with the brokers what does not fit."""
        if self._gathering.full == self._paused:
            return
        self._paused = self._gathering.full
        change = self._consumer.pause if self._paused else self._consumer.resume
        change(self._consumer.assignment())

    def _assigned(self, _consumer: Consumer, partitions: Iterable[TopicPartition]) -> None:
        self.joined = True
        self._paused = False
        _log.info("partitions assigned", extra={"new": [each.partition for each in partitions]})

    def _revoked(self, _consumer: Consumer, partitions: Iterable[TopicPartition]) -> None:
        self._commit()
        places = [(each.topic, each.partition) for each in partitions]
        self._gathering.forget(places)
        self._committed = {at: n for at, n in self._committed.items() if at not in places}
