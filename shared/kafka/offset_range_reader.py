"""Reads ranges of offsets that exist already, once each."""

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from shared.kafka.background_reader import reader_config
from shared.kafka.retained_offsets import retained_offsets
from shared.runtime.logging import get_logger

_log = get_logger(__name__)
_STEP_SECONDS: Final = 0.2
_MOST_MESSAGES: Final = 1_000


class OffsetRange(NamedTuple):
    """Offsets of a partition from `start` to before `end`."""

    topic: str
    partition: int
    start: int
    end: int

    @property
    def records(self) -> int:
        """Number of offsets."""
        return max(0, self.end - self.start)


class OffsetRangeReader:
    """Reads ranges one after the other, and commits nothing. A context manager."""

    def __init__(
        self, bootstrap: str, client_id: str, *, seconds: float = 30.0, ahead_bytes: int = 16 * 1024 * 1024
    ) -> None:
        """Connect when the first range is asked for.

        Args:
            bootstrap: the brokers.
            client_id: who reads.
            seconds: how long to wait for the brokers.
            ahead_bytes: what may be fetched before it is read.
        """
        config = reader_config(bootstrap, client_id) | {
            "log_level": 3,
            "queued.max.messages.kbytes": ahead_bytes // 1024,
            # A request that waits at the end of a partition would hold up the next range for as long.
            "fetch.wait.max.ms": 10,
        }
        self._consumer = Consumer(config, logger=_log)
        self._seconds = seconds

    def __enter__(self) -> "OffsetRangeReader":
        return self

    def __exit__(self, *_: object) -> None:
        self._consumer.close()

    def whole(self, topics: Iterable[str]) -> list[OffsetRange]:
        """The whole of some topics, one range per partition; topics that do not exist have none.

        Raises:
            KafkaException: if the brokers do not answer.
        """
        known = self._consumer.list_topics(timeout=self._seconds).topics
        places = [TopicPartition(t, p) for t in topics if t in known for p in sorted(known[t].partitions)]
        return [
            OffsetRange(at.topic, at.partition, *retained_offsets(self._consumer, at, seconds=self._seconds))
            for at in places
        ]

    def since(self, spans: Iterable[OffsetRange], at_ms: int) -> list[OffsetRange]:
        """The ranges from their first record at or after `at_ms`, epoch milliseconds.

        Raises:
            KafkaException: if the brokers do not answer, or refuse for a partition.
        """
        asked = {(span.topic, span.partition): span for span in spans}
        times = [TopicPartition(*place, at_ms) for place in asked]
        found = self._consumer.offsets_for_times(times, timeout=self._seconds) if times else []
        refused = [at.error for at in found if at.error]
        if refused:
            raise KafkaException(refused[0])
        starts = {(at.topic, at.partition): at.offset for at in found}
        return [
            span._replace(start=max(span.start, starts[place] if starts[place] >= 0 else span.end))
            for place, span in asked.items()
        ]

    def read(self, spans: Iterable[OffsetRange]) -> Iterator[Message]:
        """The records of ranges, in order within each; records deleted meanwhile are left out.

        Raises:
            KafkaException: if the brokers refuse the request.
            TimeoutError: if the brokers do not answer in time.
        """
        for span in spans:
            if span.records:
                yield from self._one(span)

    def _one(self, span: OffsetRange) -> Iterator[Message]:
        self._consumer.assign([TopicPartition(span.topic, span.partition, span.start)])
        silent = 0.0  # counted in polls, because the caller may take long between two records
        position = span.start
        while silent < self._seconds:
            # It waits for as many as are wanted: if these were more than there are, for a whole step.
            wanted = min(_MOST_MESSAGES, span.end - position)
            messages = self._consumer.consume(wanted, timeout=_STEP_SECONDS)
            silent = 0.0 if messages else silent + _STEP_SECONDS
            for message in messages:
                if (error := message.error()) is not None:
                    if error.code() == KafkaError._PARTITION_EOF:
                        # A follower may know less than the leader that was asked for the end.
                        if (message.offset() or 0) >= span.end:
                            return
                    elif not error.retriable():
                        raise KafkaException(error)
                    continue
                offset = message.offset() or 0
                position = offset + 1
                if offset < span.end:
                    yield message
                if offset >= span.end - 1:
                    return
        raise TimeoutError(f"the brokers sent no records of {span.topic} for {self._seconds:.0f} s")
