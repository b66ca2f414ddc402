"""Follows the recent end of a topic on a background thread, without a consumer group."""

import threading
import time
from collections.abc import Callable, Mapping
from typing import Final

from confluent_kafka import Consumer, KafkaException, Message, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._listoffsets import ListOffsetsResultInfo, OffsetSpec  # where mypy sees them

from shared.contracts.topics import Topic
from shared.kafka.background_reader import (
    IDLE_FETCH_WAIT_MS,
    BackgroundReader,
    is_end,
    poll_all,
    reader_config,
)
from shared.kafka.moving_leaders import asked_again
from shared.kafka.partition_watch import PartitionWatch
from shared.kafka.recreation_watch import RecreationWatch
from shared.runtime.clock import Clock, wall_clock
from shared.runtime.kafka_config import client_config
from shared.runtime.logging import get_logger

_log = get_logger(__name__)
_TRY_SECONDS: Final = 5.0
_ID_SECONDS: Final = 2.0
_MOST_MESSAGES: Final = 1_000
_END: OffsetSpec = OffsetSpec.latest()  # type: ignore[no-untyped-call]
_NEWEST: OffsetSpec = OffsetSpec.max_timestamp()  # type: ignore[no-untyped-call]


class Tail(BackgroundReader):
    """Calls `take` with every record from `window_ms` before the newest one on, then with new ones.

    The window counts back from the newest record, not from now, so a topic without writes for an hour still
    has a tail. `take` is called on the reader's thread, with each partition's records in order. It gets the
    window's records once more after the topic got a partition, or was deleted and created again.
    """

    def __init__(  # noqa: PLR0913  # what to read, how much of it, and for whom
        self,
        *,
        bootstrap: str,
        client_id: str,
        topic: Topic,
        window_ms: int,
        take: Callable[[list[Message]], None],
        clock: Clock = wall_clock,
    ) -> None:
        waits = {"fetch.wait.max.ms": IDLE_FETCH_WAIT_MS}
        super().__init__(name=f"tail-{topic}", config=reader_config(bootstrap, client_id) | waits)
        self._topic = topic
        self._window_ms = window_ms
        self._take = take
        self._clock = clock
        self._positions: dict[int, int] = {}
        self._goal: Mapping[int, int] = {}
        self._watch = PartitionWatch(topic)
        self._recreation = RecreationWatch(bootstrap, client_id, topic)
        self._outdated = False
        """Whether the positions are of a topic that was deleted since."""

        self._moved = threading.Condition()
        self._admin = AdminClient(client_config(bootstrap) | {"client.id": client_id}, logger=_log)

    def catch_up(self, seconds: float) -> bool:
        """Block until everything acknowledged before this call was taken; False if that takes longer."""
        until = time.monotonic() + seconds
        named = self._recreation.id_now(min(_ID_SECONDS, seconds / 2))
        try:
            ends = asked_again(lambda: self._offsets(_END, max(0.0, until - time.monotonic())), until)
        except (KafkaException, TimeoutError) as error:
            _log.warning(
                "end of the topic not read: the brokers did not answer",
                extra={"topic": self._topic, "error": str(error)},
            )
            return False
        goal = {partition: end.offset for partition, end in ends.items()}
        left = max(0.0, until - time.monotonic())
        with self._moved:
            known = self._recreation.id
            self._outdated = self._outdated or (bool(named and known) and named != known)
            return self._moved.wait_for(lambda: not self._outdated and self._reached(goal), left)

    def _turn(self, consumer: Consumer) -> bool:
        self._admin.poll(0)  # librdkafka's log lines are handled in poll
        messages = poll_all(consumer, _MOST_MESSAGES)
        if messages:
            self._handle(messages)
        with self._moved:
            self._outdated = self._recreation.made_again() or self._outdated
        if self._outdated:
            _log.warning(
                "topic was deleted and made again; reading the new one", extra={"topic": self._topic}
            )
            return False
        return not self._watch.unread(self._admin, self._positions.keys())

    def _assign(self, consumer: Consumer) -> bool:
        """Assign every partition from the start of the window; False if the brokers do not answer."""
        self._recreation.made_again()  # or not: its positions are asked for in any case
        try:
            newest = self._offsets(_NEWEST, _TRY_SECONDS)
            ends = self._offsets(_END, _TRY_SECONDS)
            # a record may have a time in the future, or the clock was set back: use the earlier one
            last = min(self._clock(), max((found.timestamp for found in newest.values()), default=0))
            since = max(0, last - self._window_ms)
            asked = [TopicPartition(self._topic, partition, since) for partition in ends]
            starts = consumer.offsets_for_times(asked, timeout=_TRY_SECONDS)
            refused = [start.error for start in starts if start.error]
            if refused:
                raise KafkaException(refused[0])
        except (KafkaException, TimeoutError) as error:
            _log.warning("tail of the topic not available; retrying", extra={"error": str(error)})
            return False
        begins = {s.partition: s.offset if s.offset >= 0 else ends[s.partition].offset for s in starts}
        with self._moved:
            self._positions, self._outdated = dict(begins), False
        self._goal = {partition: end.offset for partition, end in ends.items()}
        consumer.assign([TopicPartition(self._topic, p, offset) for p, offset in begins.items()])
        self._arrive()
        return True

    def _offsets(self, spec: OffsetSpec, seconds: float) -> dict[int, ListOffsetsResultInfo]:
        """An offset of every partition.

        Raises:
            KafkaException: if a broker refuses.
            TimeoutError: if none answers in time.
        """
        asked = {TopicPartition(self._topic, partition): spec for partition in self._partitions(seconds)}
        found = self._admin.list_offsets(asked, request_timeout=seconds)
        return {at.partition: future.result(timeout=seconds) for at, future in found.items()}

    def _partitions(self, seconds: float) -> list[int]:
        known = self._admin.list_topics(self._topic, timeout=seconds).topics[self._topic].partitions
        if not known:
            raise TimeoutError(f"topic {self._topic} does not exist yet")
        return list(known)

    def _handle(self, messages: list[Message]) -> None:
        records = [message for message in messages if message.error() is None]
        try:
            self._take(records)
        except Exception:  # a bad record must not stop the thread
            _log.exception(
                "records of the tail not processed: unexpected error", extra={"topic": self._topic}
            )
        with self._moved:
            for message in messages:
                self._advance(message)
        self._arrive()

    def _advance(self, message: Message) -> None:
        end_reached, partition, offset = is_end(message), message.partition(), message.offset()
        if partition is None or offset is None or (message.error() and not end_reached):
            return
        end = offset if end_reached else offset + 1
        self._positions[partition] = max(end, self._positions.get(partition, 0))

    def _arrive(self) -> None:
        with self._moved:
            if not self._loaded.is_set() and self._reached(self._goal):
                self._loaded.set()
            self._moved.notify_all()

    def _reached(self, goal: Mapping[int, int]) -> bool:
        return all(self._positions.get(partition, 0) >= end for partition, end in goal.items())
