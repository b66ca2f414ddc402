"""A member of a plain consumer group: writes a line for each record that it reads, as a destination does.

`python -m scripts.experiments.workers.member BOOTSTRAP TOPIC PROTOCOL FILE` runs until SIGTERM.
"""

import sys
from pathlib import Path
from typing import Any, Final

from confluent_kafka import Consumer, Message

from scripts.experiments.workers.protocol import Protocol
from scripts.load.records import received_lines
from shared.runtime.clock import wall_clock
from shared.runtime.kafka_config import client_config
from shared.runtime.logging import get_logger
from shared.runtime.shutdown import stop_event

_log = get_logger(__name__)
_MOST_RECORDS: Final = 500
_POLL_SECONDS: Final = 0.05

_SESSION_MS: Final = 6_000
"""The shortest that a broker takes: a killed member's partitions are given away after it."""

_SETTINGS: Final[dict[Protocol, dict[str, Any]]] = {
    Protocol.EAGER: {"partition.assignment.strategy": "range", "session.timeout.ms": _SESSION_MS},
    Protocol.COOPERATIVE: {
        "partition.assignment.strategy": "cooperative-sticky",
        "session.timeout.ms": _SESSION_MS,
    },
    # Its session is the broker's setting, 45 s.
    Protocol.CONSUMER: {"group.protocol": "consumer"},
}


def main(bootstrap: str, topic: str, protocol: Protocol, out: Path) -> None:
    """Read until a stop signal; records that were read are committed every second."""
    stopping = stop_event()
    consumer = Consumer(
        client_config(bootstrap)
        | {"group.id": topic, "auto.offset.reset": "earliest", "auto.commit.interval.ms": 1_000}
        | _SETTINGS[protocol],
        logger=_log,
    )
    consumer.subscribe([topic])
    with out.open("a", buffering=1) as file:
        while not stopping.is_set():
            records = consumer.consume(_MOST_RECORDS, _POLL_SECONDS)
            file.write(_lines([each for each in records if each.error() is None]))
    consumer.close()


def _lines(records: list[Message]) -> str:
    now = wall_clock()
    ids = [(each.value() or b"").decode().strip() for each in records]
    return received_lines(ids, now, [now - each.timestamp()[1] for each in records])


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], Protocol(sys.argv[3]), Path(sys.argv[4]))
