"""Reads and writes the `config` topic for a command."""

import logging
import time
from collections.abc import Callable, Sequence

from shared.contracts.documents import LIVE_SECONDS, Catalogue
from shared.contracts.publish_plan import (
    PlannedDocument,
    Records,
    in_order,
    records,
    records_of,
    tombstones_of,
)
from shared.kafka import config_topic
from shared.kafka.config_topic import PublishError
from shared.kafka.errors import kafka_errors_explained

__all__ = [
    "PublishError",
    "publish",
    "publish_steps",
    "read_catalogue",
    "records_of",
    "tombstones_of",
]

_CLIENT = "hifi-cli"
_READ_SECONDS = 15.0
_WRITE_SECONDS = 65.0
"""A little longer than the client's own timeout, so that the error has its reason."""


def read_catalogue(bootstrap: str) -> Catalogue:
    """All documents that are published now.

    Raises:
        KafkaUnavailableError: if the topic cannot be read.
    """
    logging.getLogger("shared.kafka").addHandler(logging.NullHandler())
    with kafka_errors_explained(bootstrap):
        return config_topic.read_catalogue(bootstrap, _CLIENT, _READ_SECONDS)


def publish_steps(bootstrap: str, steps: Sequence[PlannedDocument], say: Callable[[str], None]) -> None:
    """Publish the changes of a plan; new sources after their pipes are in force.

    Raises:
        PublishError: if the brokers do not acknowledge all of it.
    """
    first, opened = in_order(steps)
    publish(bootstrap, records(first))
    if first and opened:
        say(f"pipes take effect in {LIVE_SECONDS} s; new sources are opened after that")
        time.sleep(LIVE_SECONDS)
    publish(bootstrap, records(opened))


def publish(bootstrap: str, changed: Records) -> None:
    """Write records, None as a tombstone, and wait for their acknowledgement.

    Raises:
        PublishError: if one is not acknowledged; others may be.
    """
    if changed:
        config_topic.publish(bootstrap, _CLIENT, changed, _WRITE_SECONDS)
