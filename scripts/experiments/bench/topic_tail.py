"""Lags by hop, from the newest records of each topic."""

from collections.abc import Iterator
from typing import cast

import msgspec
from confluent_kafka import Message

from scripts.experiments.bench.lags import (
    Headers,
    HopLag,
    Point,
    Stamp,
    collected_stamps,
    event_stamps,
    hop_lags,
    receipt_stamps,
)
from scripts.experiments.harness.topic_reader import records_since
from shared.contracts.topics import Topic


def read_hop_lags(
    bootstrap: str, start_ms: int, *, every: int = 10, deadline_seconds: float = 60.0
) -> list[HopLag]:
    """Per-hop lags of about 1 in `every` events that were collected from `start_ms` on.

    Raises:
        KafkaUnavailableError: if the brokers do not answer, or a topic is not read in time.
    """
    return hop_lags(_stamps(bootstrap, start_ms, every, deadline_seconds))


def _stamps(bootstrap: str, start_ms: int, every: int, deadline_seconds: float) -> Iterator[Stamp]:
    for topic in (Topic.COLLECTED, Topic.EVENTS, Topic.OUTBOUND, Topic.RECEIPTS):
        for message in records_since(bootstrap, topic, start_ms, deadline_seconds):
            try:
                yield from _stamps_of(message, topic, every)
            except (KeyError, ValueError, msgspec.MsgspecError):
                continue  # unreadable; the chain itself puts it into quarantine


def _stamps_of(message: Message, topic: Topic, every: int) -> Iterator[Stamp]:
    value, at_ms = message.value() or b"", message.timestamp()[1]
    match topic:
        case Topic.COLLECTED:
            return collected_stamps(value, _headers(message), at_ms, every)
        case Topic.EVENTS:
            return event_stamps(Point.EVENTS, _headers(message), at_ms, every)
        case Topic.OUTBOUND:
            return event_stamps(Point.OUTBOUND, _headers(message), at_ms, every)
        case _:
            return receipt_stamps(value, at_ms, every)


def _headers(message: Message) -> Headers:
    return dict(cast(list[tuple[str, bytes]], message.headers() or []))
