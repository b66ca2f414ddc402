"""Producers that answer for what they were given. One owner of the client's durability settings."""

from typing import Any


def producer_config(bootstrap: str, client_id: str) -> dict[str, Any]:
    """librdkafka settings of every hifi producer.

    librdkafka's own defaults are not idempotent and wait five minutes; a caller who waits for an
    acknowledgement wants a definite answer within a minute.
    """
    return {
        "bootstrap.servers": bootstrap,
        "client.id": client_id,
        "acks": "all",
        "enable.idempotence": True,
        "compression.type": "lz4",
        "delivery.timeout.ms": 60_000,
        "socket.timeout.ms": 10_000,
        "socket.connection.setup.timeout.ms": 5_000,
        "reconnect.backoff.max.ms": 1_000,
        "topic.metadata.refresh.interval.ms": 60_000,
        "partitioner": "murmur2_random",
        "linger.ms": 5,
    }
