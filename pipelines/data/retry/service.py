"""Reads waiting records, holds them until they are due, writes them on, and then commits their offsets."""

import threading
from collections.abc import Iterable
from typing import Final, cast

from confluent_kafka import (
    TIMESTAMP_NOT_AVAILABLE,
    Consumer,
    KafkaException,
    Message,
    TopicPartition,
)

from pipelines.data.retry.decide import DelayedRecord, WaitingRecord, delayed_record, to_one_topic
from pipelines.data.retry.delay_queue import MAX_WRITE_RECORDS, DelayQueue
from pipelines.data.retry.expired import log_expired
from pipelines.data.retry.metrics import RetryMetrics
from pipelines.data.retry.writer import RecordWriter
from shared.contracts.headers import Headers
from shared.contracts.topics import Topic
from shared.contracts.topology import INPUTS
from shared.kafka.consumer import readable
from shared.runtime.clock import Clock
from shared.runtime.logging import get_logger

_log = get_logger(__name__)
_MAX_POLL_SECONDS: Final = 0.5
"""How long one poll may wait, so that the group and the stop signal are looked at in time."""

_PAUSE_SECONDS: Final = 0.5
_COMMIT_PAUSE_SECONDS: Final = 0.05
_MAX_MESSAGES: Final = MAX_WRITE_RECORDS
"""Read in one turn: as many as may be written in it."""

PartitionId = tuple[str, int]
"""Topic and partition."""


class RetryService:
    """One member of the consumer group; runs on its caller's thread."""

    def __init__(  # noqa: PLR0913  # every dependency by itself
        self,
        *,
        consumer: Consumer,
        writer: RecordWriter,
        clock: Clock,
        spread: float,
        metrics: RetryMetrics,
        stopping: threading.Event,
    ) -> None:
        self._consumer = consumer
        self._writer = writer
        self._clock = clock
        self._spread = spread
        self._metrics = metrics
        self._stopping = stopping
        self._queues: dict[PartitionId, DelayQueue] = {}
        self._paused: set[PartitionId] = set()
        self._uncommitted: dict[PartitionId, int] = {}
        """Per partition: the offset to commit, where records were written and not committed yet."""

        self._new: list[PartitionId] = []
        """Assigned since the last turn."""

        self._failed: set[PartitionId] = set()
        """Partitions with a due record that was not acknowledged in the last turn."""

        self.joined = False
        """Whether the group has assigned partitions to this member, possibly none."""

    def run(self) -> None:
        """Run until stopping, then commit what was written and leave the group.

        Raises:
            KafkaException: the client failed for good. Nothing is lost; a new process takes over.
        """
        topics = [str(topic) for topic in INPUTS["retry"]]
        self._consumer.subscribe(
            topics, on_assign=self._assigned, on_revoke=self._revoked, on_lost=self._lost
        )
        try:
            while not self._stopping.is_set():
                self.run_once()
        finally:
            self._commit()
            self._consumer.close()

    def run_once(self) -> None:
        """Read new records, write those that are due and commit them.

        Nothing more is written while a commit is open, so a kill repeats at most what one turn wrote. That
        matters during a rebalance, when the brokers refuse commits for a second or more.
        """
        self._read(self._timeout())
        if not self._commit():
            self._pause_full_queues()  # what is read meanwhile stays bounded
            self._stopping.wait(_COMMIT_PAUSE_SECONDS)
            return
        self._log_expired()
        self._write_due()
        self._pause_full_queues()

    def _log_expired(self) -> None:
        """Say what is gone of new partitions, before this member commits for them."""
        new, self._new = [each for each in self._new if each in self._queues], []
        if new:
            log_expired(self._consumer, [TopicPartition(*each) for each in new])

    def _write_due(self) -> None:
        """Write each partition's run, and mark of each what was acknowledged before its first failure.

        Also called with nothing to write: then the writer has nothing unacknowledged any more.
        """
        now_ms = self._clock()
        due = {each: self._run(each, queue, now_ms) for each, queue in self._queues.items()}
        runs = {each: run for each, run in due.items() if run}
        counts = self._writer.write([[record.output for record in run] for run in runs.values()])
        written = dict(zip(runs, counts, strict=True))
        self._mark_written({each: runs[each][:count] for each, count in written.items() if count}, now_ms)
        self._failed = {each for each, count in written.items() if count < len(runs[each])}
        if self._failed:
            self._stopping.wait(_PAUSE_SECONDS)

    def _run(self, partition_id: PartitionId, queue: DelayQueue, now_ms: int) -> list[DelayedRecord]:
        """The due records of a partition that may be written together.

        The first one alone if it was not acknowledged last time: those behind it would be written with it
        again and again.
        """
        due = queue.due(now_ms, self._backlog(partition_id, queue))
        return due[:1] if partition_id in self._failed else to_one_topic(due)

    def _timeout(self) -> float:
        """Seconds that a poll may wait: until the next record is due."""
        now_ms = self._clock()
        wakes = [wake for queue in self._queues.values() if (wake := queue.wake_ms(now_ms)) is not None]
        return min(_MAX_POLL_SECONDS, max(0.0, (min(wakes) - now_ms) / 1000)) if wakes else _MAX_POLL_SECONDS

    def _read(self, seconds: float) -> None:
        # consume() alone returns only when its timeout is over or the batch is full. The polled message is in
        # its queue before consume() may revoke the partition.
        first = self._consumer.poll(seconds)
        if first is not None:
            self._enqueue(first)
            for message in self._consumer.consume(_MAX_MESSAGES, timeout=0):
                self._enqueue(message)

    def _enqueue(self, message: Message) -> None:
        queue = self._queues.get(_partition_id_of(message))
        if readable(message) and queue is not None:
            now_ms = self._clock()
            queue.add(delayed_record(record_of(message, now_ms), now_ms))

    def _backlog(self, partition_id: PartitionId, queue: DelayQueue) -> int:
        """Records of a partition that are not written yet, by the end offset of the last fetch."""
        if queue.first is None:
            return 0
        known = self._consumer.get_watermark_offsets(TopicPartition(*partition_id), cached=True)
        return max(0, known[1] - queue.first) if known else 0

    def _mark_written(self, runs: dict[PartitionId, list[DelayedRecord]], now_ms: int) -> None:
        for partition_id, run in runs.items():
            self._queues[partition_id].remove_first(len(run))
            self._metrics.count(partition_id[0], run, now_ms)
            self._uncommitted[partition_id] = run[-1].offset + 1
        self._commit()

    def _commit(self) -> bool:
        """Commit what was written; False if some of it is still not committed."""
        if self._uncommitted:
            ends = [TopicPartition(*each, offset) for each, offset in self._uncommitted.items()]
            try:
                answers = self._consumer.commit(offsets=ends, asynchronous=False) or []
            except KafkaException as error:
                _log.info("commit failed, trying again", extra={"error": error.args[0].str()})
                return False
            refused = {_partition_id(answer) for answer in answers if answer.error}
            self._uncommitted = {at: n for at, n in self._uncommitted.items() if at in refused}
        return not self._uncommitted

    def _pause_full_queues(self) -> None:
        """Pause partitions with a full queue; resume those that have room again."""
        full = {each for each, queue in self._queues.items() if queue.full} - self._paused
        low = {each for each, queue in self._queues.items() if queue.low} & self._paused
        if full:
            self._consumer.pause([TopicPartition(*each) for each in full])
        if low:
            self._consumer.resume([TopicPartition(*each) for each in low])
        self._paused = (self._paused | full) - low

    def _assigned(self, _consumer: Consumer, partitions: Iterable[TopicPartition]) -> None:
        for partition in partitions:
            self._queues[_partition_id(partition)] = DelayQueue(Topic(partition.topic), self._spread)
            self._new.append(_partition_id(partition))
        self.joined = True
        _log.info("partitions assigned", extra={"held": sorted(map(str, self._queues))})

    def _revoked(self, _consumer: Consumer, partitions: Iterable[TopicPartition]) -> None:
        """Drop the queues of revoked partitions: the next owner reads their records again."""
        self._commit()
        self._forget(partitions)

    def _lost(self, _consumer: Consumer, partitions: Iterable[TopicPartition]) -> None:
        """The partitions are another member's already: it repeats what this one did not commit."""
        self._forget(partitions)

    def _forget(self, partitions: Iterable[TopicPartition]) -> None:
        held = {_partition_id(partition) for partition in partitions}
        if paused := held & self._paused:
            # librdkafka keeps the pause of a partition that is taken away: given back it would never be read.
            self._consumer.resume([TopicPartition(*each) for each in paused])
            self._paused -= paused
        for partition_id in held:
            self._queues.pop(partition_id, None)
            self._uncommitted.pop(partition_id, None)
            self._failed.discard(partition_id)


def record_of(message: Message, now_ms: int) -> WaitingRecord:
    """The record of a Kafka message; one without a timestamp counts as written now."""
    kind, at_ms = message.timestamp()
    return WaitingRecord(
        topic=Topic(cast(str, message.topic())),
        partition=cast(int, message.partition()),
        offset=cast(int, message.offset()),
        key=message.key(),
        value=message.value(),
        headers=cast(Headers, message.headers() or []),
        written_ms=now_ms if kind == TIMESTAMP_NOT_AVAILABLE else at_ms,
    )


def _partition_id(partition: TopicPartition) -> PartitionId:
    return partition.topic, partition.partition


def _partition_id_of(message: Message) -> PartitionId:
    return cast(str, message.topic()), cast(int, message.partition())
