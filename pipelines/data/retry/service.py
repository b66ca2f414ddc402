"""The doing: records read, held until due, written on, and only then marked as read."""

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

from pipelines.data.retry.decide import Headers, Held, Record, hold
from pipelines.data.retry.delay_queue import RUN, Lane
from pipelines.data.retry.metrics import Meters
from pipelines.data.retry.writer import Writer
from shared.contracts.topics import Topic
from shared.contracts.topology import INPUTS
from shared.kafka.consumer import readable
from shared.runtime.clock import Clock
from shared.runtime.logging import get_logger

_log = get_logger(__name__)
_LONGEST_SECONDS: Final = 0.5
"""Between two looks at the group and at the stop signal."""

_PAUSE_SECONDS: Final = 0.5
_COMMIT_PAUSE_SECONDS: Final = 0.05
_MOST_MESSAGES: Final = RUN
"""Read in one turn: as many as may leave in it."""

Place = tuple[str, int]
"""Topic and partition."""


class Retrier:
    """A member of the group, on its caller's thread."""

    def __init__(  # noqa: PLR0913  # the world, piece by piece
        self,
        *,
        consumer: Consumer,
        writer: Writer,
        clock: Clock,
        spread: float,
        meters: Meters,
        stopping: threading.Event,
    ) -> None:
        self._consumer = consumer
        self._writer = writer
        self._clock = clock
        self._spread = spread
        self._meters = meters
        self._stopping = stopping
        self._lanes: dict[Place, Lane] = {}
        self._paused: set[Place] = set()
        self._uncommitted: dict[Place, int] = {}
        """The next offset of each partition of which something was written and not marked as read."""

        self.joined = False
        """Whether the group has given this member its part, which may be none."""

    def run(self) -> None:
        """Go on until stopping, then leave the group; what was written is committed.

        Raises:
            KafkaException: if a client cannot go on. Nothing is lost; a new process takes over.
        """
        topics = [str(topic) for topic in INPUTS["retry"]]
        self._consumer.subscribe(
            topics, on_assign=self._assigned, on_revoke=self._revoked, on_lost=self._lost
        )
        try:
            while not self._stopping.is_set():
                self.turn()
        finally:
            self._committed()
            self._consumer.close()

    def turn(self) -> None:
        """Read what came, write what is due, mark it as read; nothing is written before that is done.

        So a kill repeats what one turn wrote, also where the group is being shared out anew, during which
        the brokers take no commits for a second or more.
        """
        self._read(self._timeout())
        if not self._committed():
            self._stopping.wait(_COMMIT_PAUSE_SECONDS)
            return
        now_ms = self._clock()
        due = {place: lane.due(now_ms, self._waiting(place, lane)) for place, lane in self._lanes.items()}
        runs = {place: run for place, run in due.items() if run}
        if runs:
            if self._writer.write([held.output for run in runs.values() for held in run]):
                self._settle(runs, now_ms)
            else:
                self._stopping.wait(_PAUSE_SECONDS)
        self._hold_back()

    def _timeout(self) -> float:
        """Seconds to wait for a record: until the first one held may leave."""
        now_ms = self._clock()
        wakes = [wake for lane in self._lanes.values() if (wake := lane.wake_ms(now_ms)) is not None]
        return min(_LONGEST_SECONDS, max(0.0, (min(wakes) - now_ms) / 1000)) if wakes else _LONGEST_SECONDS

    def _read(self, seconds: float) -> None:
        # consume() alone would hold back what it has until its timeout is over. What poll gave is in its lane
        # before consume may take the partition away.
        first = self._consumer.poll(seconds)
        if first is not None:
            self._take(first)
            for message in self._consumer.consume(_MOST_MESSAGES, timeout=0):
                self._take(message)

    def _take(self, message: Message) -> None:
        lane = self._lanes.get(_place(message))
        if readable(message) and lane is not None:
            now_ms = self._clock()
            lane.take(hold(record_of(message, now_ms), now_ms))

    def _waiting(self, place: Place, lane: Lane) -> int:
        """Records of a partition that have not left, by the end that the last fetch told of."""
        if lane.first is None:
            return 0
        known = self._consumer.get_watermark_offsets(TopicPartition(*place), cached=True)
        return max(0, known[1] - lane.first) if known else 0

    def _settle(self, runs: dict[Place, list[Held]], now_ms: int) -> None:
        for place, run in runs.items():
            self._lanes[place].done(len(run))
            self._meters.count(place[0], run, now_ms)
            self._uncommitted[place] = run[-1].offset + 1
        self._committed()

    def _committed(self) -> bool:
        """Whether all that was written is marked as read by now."""
        if self._uncommitted:
            ends = [TopicPartition(*place, offset) for place, offset in self._uncommitted.items()]
            try:
                answers = self._consumer.commit(offsets=ends, asynchronous=False) or []
            except KafkaException as error:
                _log.info("not marked as read yet", extra={"error": error.args[0].str()})
                return False
            refused = {_where(answer) for answer in answers if answer.error}
            self._uncommitted = {at: n for at, n in self._uncommitted.items() if at in refused}
        return not self._uncommitted

    def _hold_back(self) -> None:
        """Leave with the brokers what does not fit."""
        full = {place for place, lane in self._lanes.items() if lane.full} - self._paused
        low = {place for place, lane in self._lanes.items() if lane.low} & self._paused
        if full:
            self._consumer.pause([TopicPartition(*place) for place in full])
        if low:
            self._consumer.resume([TopicPartition(*place) for place in low])
        self._paused = (self._paused | full) - low

    def _assigned(self, _consumer: Consumer, partitions: Iterable[TopicPartition]) -> None:
        for partition in partitions:
            place = _where(partition)
            self._lanes[place] = Lane(Topic(partition.topic), self._spread)
            self._paused.discard(place)
        self.joined = True
        _log.info("partitions assigned", extra={"held": sorted(map(str, self._lanes))})

    def _revoked(self, _consumer: Consumer, partitions: Iterable[TopicPartition]) -> None:
        """Forget what is held: the next owner reads it again."""
        self._committed()
        self._forget(partitions)

    def _lost(self, _consumer: Consumer, partitions: Iterable[TopicPartition]) -> None:
        """The same where they are another member's already, which repeats what is not marked as read."""
        self._forget(partitions)

    def _forget(self, partitions: Iterable[TopicPartition]) -> None:
        for partition in partitions:
            place = _where(partition)
            self._lanes.pop(place, None)
            self._paused.discard(place)
            self._uncommitted.pop(place, None)


def record_of(message: Message, now_ms: int) -> Record:
    """A message as the deciding part takes it; one without a timestamp counts as written now."""
    kind, at_ms = message.timestamp()
    return Record(
        topic=Topic(cast(str, message.topic())),
        partition=cast(int, message.partition()),
        offset=cast(int, message.offset()),
        key=message.key(),
        value=message.value(),
        headers=cast(Headers, message.headers() or []),
        written_ms=now_ms if kind == TIMESTAMP_NOT_AVAILABLE else at_ms,
    )


def _where(partition: TopicPartition) -> Place:
    return partition.topic, partition.partition


def _place(message: Message) -> Place:
    return cast(str, message.topic()), cast(int, message.partition())
