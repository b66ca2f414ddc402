"""Writes to the `config` topic, fenced: who took over keeps a former leader from writing anything more."""

from typing import Final

from confluent_kafka import KafkaError, KafkaException, Producer

from shared.contracts.publish_plan import Records
from shared.contracts.topics import Topic
from shared.kafka.producer import logging_client, producer_config

_SECONDS: Final = 15.0
_POLL_SECONDS: Final = 0.1
_TRANSACTION_MS: Final = 20_000
"""A leader that died inside a transaction holds readers up for no longer; its successor ends it at once."""


class FencedError(Exception):
    """Another process took over."""


class FencedPublisher:
    """One leader's writer. Each call of `publish` is one transaction: readers see all of it, or nothing."""

    def __init__(self, bootstrap: str, side: str) -> None:
        """Take over from any former writer of the side.

        Raises:
            KafkaException: if the brokers do not answer.
        """
        config = producer_config(bootstrap, f"hifi-{side}-provision") | {
            "transactional.id": f"hifi-{side}-provision",
            "transaction.timeout.ms": _TRANSACTION_MS,
            "delivery.timeout.ms": _TRANSACTION_MS,
        }
        self._producer: Producer = logging_client(config)
        self._producer.init_transactions(_SECONDS)

    def publish(self, records: Records) -> None:
        """Write records, None as a tombstone, and return when the brokers have all of them.

        Raises:
            FencedError: if another process took over; nothing was written.
            KafkaException: if the brokers did not take it; readers see nothing of it. Take a new publisher.
        """
        try:
            self._producer.begin_transaction()
            for key, value in records.items():
                self._produce(key, value)
            self._producer.commit_transaction(_SECONDS)
        except KafkaException as error:
            if error.args[0].code() in (KafkaError._FENCED, KafkaError.INVALID_PRODUCER_EPOCH):
                raise FencedError("another provisioner took over") from error
            raise

    def _produce(self, key: bytes, value: bytes | None) -> None:
        """A take-over writes every document twice, which may be more than the client's queue holds."""
        while True:
            try:
                self._producer.produce(Topic.CONFIG, key=key, value=value)
            except BufferError:
                self._producer.poll(_POLL_SECONDS)
            else:
                return
