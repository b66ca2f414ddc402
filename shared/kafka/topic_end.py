"""Where a topic of one partition ends, asked anew each time."""

from typing import Any

from confluent_kafka import Consumer, KafkaException, TopicPartition

from shared.contracts.topics import Topic
from shared.kafka.background_reader import reader_config
from shared.kafka.global_table import GlobalTable
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
        self._consumer.poll(0)  # librdkafka's log lines are handled in poll
        return retained_offsets(self._consumer, self._place, seconds=seconds).end

    def reached_by(self, table: GlobalTable[Any], seconds: float) -> bool:
        """Block until the topic's table holds all that the topic does now.

        False if the brokers do not say where it ends, or the table is not there, in so many seconds each.
        """
        named: dict[str, object] = {"topic": self._place.topic}
        try:
            end = self.offset(seconds)
        except KafkaException as error:
            _log.warning("whether a table is the newest is not known", extra=named | {"error": str(error)})
            return False
        if table.wait_for(end, seconds):
            return True
        _log.warning("a table is not the newest", extra=named | {"position": table.position, "end": end})
        return False

    def close(self) -> None:
        """End the connection."""
        self._consumer.close()
