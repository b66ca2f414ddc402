"""Where a topic of one partition ends, asked anew each time."""

from confluent_kafka import Consumer, TopicPartition

from shared.contracts.topics import Topic
from shared.kafka.background_reader import reader_config
from shared.kafka.retained_offsets import retained_offsets
from shared.runtime.logging import get_logger

_log = get_logger(__name__)


class TopicEnd:
    """Asks the brokers over a connection of its own, which it keeps."""

    def __init__(self, bootstrap: str, client_id: str, topic: Topic) -> None:
        self._consumer = Consumer(reader_config(bootstrap, client_id), logger=_log)
        self._place = TopicPartition(topic, 0)

    def offset(self, seconds: float) -> int:
        """The offset after the last record that can be read: none of an open transaction.

        Raises:
            KafkaException: if the brokers do not answer in time.
        """
        return retained_offsets(self._consumer, self._place, seconds=seconds).end

    def close(self) -> None:
        """End the connection."""
        self._consumer.close()
