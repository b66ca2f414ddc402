"""Access to a customer's Kafka cluster: its identity and librdkafka's settings."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from confluent_kafka import KafkaError

from shared.connectors.kafka import Server
from shared.contracts.limits import MAX_RECORD_BYTES

LOOK_SECONDS: Final = 60.0
"""Seconds between two checks of the brokers that a cluster names."""

_QUEUE_KIB: Final = 32 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """Addresses and credentials of a cluster; equal ones share a producer."""

    tenant: str
    servers: tuple[Server, ...]
    timeout_seconds: float
    tls: bool
    ca: str | None
    mechanism: str | None
    username: str | None
    password: str | None = field(repr=False)
    batch_records: int | None = None
    """Most records in a batch; None leaves that to the client library."""


def producer_config(access: Access, on_error: Callable[[KafkaError], None]) -> dict[str, Any]:
    """librdkafka settings of a producer for a customer's cluster.

    Not idempotent: that needs another permission, and a broken sequence would end the producer for all.
    """
    milliseconds = max(1, int(access.timeout_seconds * 1000))
    security = ("SASL_SSL" if access.tls else "SASL_PLAINTEXT") if access.mechanism else None
    config: dict[str, Any] = {
        "bootstrap.servers": ",".join(f"[{h}]:{p}" if ":" in h else f"{h}:{p}" for h, p in access.servers),
        "client.id": "hifi",
        "security.protocol": security or ("SSL" if access.tls else "PLAINTEXT"),
        "acks": "all",
        "compression.type": "lz4",
        "partitioner": "murmur2_random",
        "allow.auto.create.topics": False,
        "delivery.timeout.ms": milliseconds,
        "request.timeout.ms": min(milliseconds, 30_000),
        "socket.timeout.ms": max(10_000, milliseconds),  # less would close connections that are only slow
        "reconnect.backoff.max.ms": 1_000,
        "topic.metadata.refresh.interval.ms": int(LOOK_SECONDS * 1000),
        "connections.max.idle.ms": 60_000,
        "message.max.bytes": MAX_RECORD_BYTES,
        "queue.buffering.max.kbytes": _QUEUE_KIB,
        "linger.ms": min(5, milliseconds - 1),
        "error_cb": on_error,
        "log_level": 2,  # its log lines concern customers' servers, and contain addresses
    }
    if access.batch_records is not None:
        config["batch.num.messages"] = access.batch_records
    if access.ca is not None:
        config["ssl.ca.pem"] = access.ca
    if access.mechanism is not None:
        config |= {
            "sasl.mechanism": access.mechanism,
            "sasl.username": access.username,
            "sasl.password": access.password,
        }
    return config
