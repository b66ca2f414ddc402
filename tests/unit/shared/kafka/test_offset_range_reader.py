"""Offset ranges from brokers that refuse. The consumer is simulated."""

from collections.abc import Iterable
from typing import Final

import pytest
from confluent_kafka import KafkaError, KafkaException, TopicPartition

from shared.kafka import offset_range_reader
from shared.kafka.offset_range_reader import OffsetRange, OffsetRangeReader

SPANS: Final = [OffsetRange("dead_letter", partition, 3, 9) for partition in range(2)]


class Refused(TopicPartition):
    """A partition for which the leader does not answer."""

    error = KafkaError(KafkaError.NOT_LEADER_FOR_PARTITION)


class Answers:
    """A consumer that finds these offsets."""

    def __init__(self, *found: TopicPartition) -> None:
        self.found = list(found)

    def offsets_for_times(self, _asked: Iterable[TopicPartition], timeout: float) -> list[TopicPartition]:
        return self.found

    def close(self) -> None:
        """Do nothing."""


@pytest.fixture
def reader(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> OffsetRangeReader:
    answers: list[TopicPartition] = request.param
    monkeypatch.setattr(offset_range_reader, "Consumer", lambda *_, **__: Answers(*answers))
    return OffsetRangeReader("127.0.0.1:1", "test")


@pytest.mark.parametrize(
    "reader", [[TopicPartition("dead_letter", 0, 5), TopicPartition("dead_letter", 1, -1)]], indirect=True
)
def test_a_partition_without_a_later_record_has_an_empty_range(reader: OffsetRangeReader) -> None:
    assert [(span.start, span.end) for span in reader.since(SPANS, 7)] == [(5, 9), (9, 9)]


@pytest.mark.parametrize(
    "reader", [[TopicPartition("dead_letter", 0, 5), Refused("dead_letter", 1, -1)]], indirect=True
)
def test_a_partition_that_is_refused_is_not_taken_for_an_empty_one(reader: OffsetRangeReader) -> None:
    with pytest.raises(KafkaException) as refused:
        reader.since(SPANS, 7)
    assert refused.value.args[0].code() == KafkaError.NOT_LEADER_FOR_PARTITION
