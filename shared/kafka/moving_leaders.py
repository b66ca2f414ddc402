"""Asks brokers again while the leader of a partition moves."""

import time
from collections.abc import Callable
from typing import Final, TypeVar

from confluent_kafka import KafkaError, KafkaException

T = TypeVar("T")
PAUSE_SECONDS: Final = 0.1

LEADER_MOVES: Final = frozenset(
    {
        KafkaError.FENCED_LEADER_EPOCH,
        KafkaError.LEADER_NOT_AVAILABLE,
        KafkaError.NOT_LEADER_FOR_PARTITION,
        KafkaError.OFFSET_NOT_AVAILABLE,
        KafkaError.UNKNOWN_LEADER_EPOCH,
    }
)
"""Errors of brokers that do not agree yet about who leads a partition, or of a new leader that does not know
its end yet (KIP-207): while a broker stops or starts, and when Kafka rebalances leaders, minutes later."""


def asked_again(ask: Callable[[], T], until: float) -> T:
    """The answer, asked for again until then, on the monotonic clock, while a leader moves.

    Raises:
        KafkaException: the last one, or one that says something else.
    """
    while True:
        try:
            return ask()
        except KafkaException as error:
            if error.args[0].code() not in LEADER_MOVES or time.monotonic() + PAUSE_SECONDS > until:
                raise
        time.sleep(PAUSE_SECONDS)
