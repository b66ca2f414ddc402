"""Reads `collected`."""

from collections.abc import Iterator

import msgspec
from confluent_kafka import Consumer, Message, TopicPartition

from shared.contracts.envelope import CollectedItem
from shared.contracts.topics import Topic
from shared.kafka.background_reader import reader_config
from shared.kafka.retained_offsets import retained_offsets

_decoder = msgspec.json.Decoder(list[CollectedItem])


class Collected:
    """The records written to `collected` from now on."""

    def __init__(self, bootstrap: str) -> None:
        self._consumer = Consumer(reader_config(bootstrap, "test"))
        found = self._consumer.list_topics(Topic.COLLECTED, timeout=60).topics[Topic.COLLECTED].partitions
        self._starts = {p: self._end(p) for p in found}

    def close(self) -> None:
        self._consumer.close()

    def records(self) -> list[Message]:
        """All records so far."""
        ends = {p: self._end(p) for p in self._starts}
        self._consumer.assign([TopicPartition(Topic.COLLECTED, p, at) for p, at in self._starts.items()])
        waiting = {p for p, end in ends.items() if end > self._starts[p]}
        return list(self._read(waiting, ends))

    def items(self) -> list[CollectedItem]:
        """The events of all records."""
        return [item for record in self.records() for item in _decoder.decode(record.value() or b"")]

    def ids(self) -> set[str]:
        return {item.attributes["id"] for item in self.items()}

    def _read(self, waiting: set[int], ends: dict[int, int]) -> Iterator[Message]:
        while waiting:
            message = self._consumer.poll(60)
            assert message is not None, "collected cannot be read"
            if message.error() is not None:
                continue
            yield message
            partition, offset = message.partition(), message.offset()
            assert partition is not None
            assert offset is not None
            if offset + 1 >= ends[partition]:
                waiting.discard(partition)

    def _end(self, partition: int) -> int:
        """The offset after the last record."""
        return retained_offsets(self._consumer, TopicPartition(Topic.COLLECTED, partition), seconds=60).end
