"""Reads trace points, exports them as spans, and commits the offsets once they are acknowledged."""

import threading
from collections.abc import Iterable
from typing import Final, cast

import msgspec
from confluent_kafka import Consumer, KafkaException, Message, TopicPartition

from pipelines.control.trace.metrics import TraceMetrics
from pipelines.control.trace.otlp import ExportResult, OtlpExporter
from pipelines.control.trace.span_buffer import Partition, SpanBuffer, Trace
from pipelines.control.trace.spans import spans
from shared.contracts.topology import INPUTS
from shared.contracts.tracing import TracePoint, decode_trace_point
from shared.kafka.consumer import readable
from shared.runtime.clock import Clock
from shared.runtime.logging import get_logger

_log = get_logger(__name__)
_LONGEST_SECONDS: Final = 0.5
"""Seconds between two checks for due events and the stop signal."""

_MOST_MESSAGES: Final = 1_000
_PAUSE_SECONDS: Final = 1.0


class TraceService:
    """A member of the consumer group, on the caller's thread."""

    def __init__(  # noqa: PLR0913  # the world, piece by piece
        self,
        *,
        consumer: Consumer,
        exporter: OtlpExporter,
        buffer: SpanBuffer,
        clock: Clock,
        metrics: TraceMetrics,
        stopping: threading.Event,
    ) -> None:
        self._consumer = consumer
        self._exporter = exporter
        self._buffer = buffer
        self._clock = clock
        self._metrics = metrics
        self._stopping = stopping
        self._committed: dict[Partition, int] = {}
        self._paused: set[Partition] = set()
        self.joined = False
        """Whether the group has assigned partitions to this member, perhaps none."""

        self.acknowledged = True
        """Whether the receiver acknowledged the last batch."""

    def run(self) -> None:
        """Run until stopping, then leave the group; what is not exported is read again by another member.

        Raises:
            KafkaException: if the Kafka client fails fatally.
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
        """Read new records, export due traces and commit exported ones."""
        for message in self._consumer.consume(_MOST_MESSAGES, timeout=_LONGEST_SECONDS):
            self._take(message)
        due = self._buffer.due(self._clock())
        if due:
            self._export(due)
        self._commit()
        self._hold_back()

    def _take(self, message: Message) -> None:
        if not readable(message):
            return
        point = self._point(message)
        partition = cast(str, message.topic()), cast(int, message.partition())
        self._buffer.take(partition, cast(int, message.offset()), point, self._clock())

    def _point(self, message: Message) -> TracePoint | None:
        try:
            return decode_trace_point(message.value() or b"")
        except msgspec.MsgspecError as error:
            self._metrics.unreadable.inc()
            _log.warning(
                "record of traces skipped: it cannot be decoded",
                extra={"offset": message.offset(), "error": str(error)},
            )
            return None

    def _export(self, due: list[Trace]) -> None:
        """Export traces in one request; in halves if the receiver refuses it for good, down to one trace."""
        exported = [span for trace in due for span in spans(trace.points)]
        result = self._exporter.export(exported) if exported else ExportResult.ACKNOWLEDGED
        self.acknowledged = result is not ExportResult.UNAVAILABLE
        if result is ExportResult.ACKNOWLEDGED:
            self._buffer.done(due)
            self._metrics.exported.inc(len(exported))
        elif result is ExportResult.UNAVAILABLE:
            self._metrics.refused.inc()
            _log.warning("spans not acknowledged by the receiver; retrying", extra={"spans": len(exported)})
            self._stopping.wait(_PAUSE_SECONDS)
        elif len(due) > 1:
            self._export(due[: len(due) // 2])
            if self.acknowledged:
                self._export(due[len(due) // 2 :])
        else:
            self._drop(due[0], len(exported))

    def _drop(self, trace: Trace, count: int) -> None:
        """Drop a trace that the receiver never takes: it would keep back all that follow."""
        self._buffer.done([trace])
        self._metrics.dropped.inc(count)
        first = trace.points[0]
        _log.warning(
            "trace dropped: the receiver refuses its spans for good",
            extra={"tenant": first.tenant, "event": first.id, "spans": count},
        )

    def _commit(self) -> None:
        """Commit exported offsets; those of partitions that the brokers refuse, again at the next turn.

        If this member ends before, spans are exported twice, with the same ids.
        """
        positions = self._buffer.positions()
        ends = [TopicPartition(*at, n) for at, n in positions.items() if self._committed.get(at) != n]
        if not ends:
            return
        try:
            answers = self._consumer.commit(offsets=ends, asynchronous=False) or []
        except KafkaException as error:
            _log.info("offsets not committed; retrying", extra={"error": error.args[0].str()})
            return
        refused = {_partition(each): each.error.str() for each in answers if each.error}
        if refused:
            _log.info("offsets not committed; retrying", extra={"error": next(iter(refused.values()))})
        self._committed = {at: n for at, n in positions.items() if at not in refused}

    def _hold_back(self) -> None:
        """Pause every partition while the buffer is full, also those that came meanwhile."""
        held = {_partition(each) for each in self._consumer.assignment()} if self._buffer.full else set()
        if new := held - self._paused:
            self._consumer.pause([TopicPartition(*each) for each in new])
        if over := self._paused - held:
            self._consumer.resume([TopicPartition(*each) for each in over])
        self._paused = held

    def _assigned(self, _consumer: Consumer, partitions: Iterable[TopicPartition]) -> None:
        self.joined = True
        _log.info("partitions assigned", extra={"new": [each.partition for each in partitions]})

    def _revoked(self, _consumer: Consumer, partitions: Iterable[TopicPartition]) -> None:
        self._commit()
        revoked = {_partition(each) for each in partitions}
        if paused := revoked & self._paused:
            # librdkafka keeps the pause of a partition that is taken away: given back it would never be read.
            self._consumer.resume([TopicPartition(*each) for each in paused])
            self._paused -= paused
        self._buffer.forget(revoked)
        self._committed = {at: n for at, n in self._committed.items() if at not in revoked}


def _partition(place: TopicPartition) -> Partition:
    return place.topic, place.partition
