"""The configuration that the bench runs with: one source, one destination, one pipe with a pattern."""

from collections.abc import Mapping
from typing import Final

from confluent_kafka import KafkaException, Producer
from confluent_kafka.admin import AdminClient

from shared.contracts.config import (
    Destination,
    Document,
    Entry,
    Pipe,
    Source,
    encode_entry,
    kind_of,
    sealed,
    topic_key,
)
from shared.contracts.topics import Topic
from shared.kafka.admin import AdminError
from shared.kafka.producer import producer_config

WRITE_KEY: Final = "bench-write-key"
NAME: Final = "bench"
"""Of the source, the destination and the pipe, and their tenant."""


def documents(url: str) -> list[Document]:
    """Everything from the source goes to the destination at `url`; the pattern matches, but must be asked."""
    return [
        Source(name=NAME, tenant=NAME, write_keys=[WRITE_KEY]),
        Destination(name=NAME, tenant=NAME, url=url),
        Pipe(
            name=NAME,
            tenant=NAME,
            source=NAME,
            destination=NAME,
            match={"type": [{"prefix": "video."}]},
        ),
    ]


def publishable(admin: AdminClient) -> bool:
    """Whether there is a `config` topic."""
    try:
        return Topic.CONFIG in admin.list_topics(timeout=2.0).topics
    except KafkaException:
        return False  # no broker answers yet


def publish(bootstrap: str, url: str) -> None:
    """Publish them.

    Raises:
        AdminError: if the brokers do not acknowledge.
    """
    found = documents(url)
    _write(bootstrap, {_key(d): encode_entry(Entry(version=1, document=sealed(d))) for d in found})


def retire(bootstrap: str) -> None:
    """Remove them again.

    Raises:
        AdminError: if the brokers do not acknowledge.
    """
    _write(bootstrap, {_key(document): None for document in documents("http://nowhere/")})


def _key(document: Document) -> bytes:
    return topic_key(kind_of(document), document.name)


def _write(bootstrap: str, values: Mapping[bytes, bytes | None]) -> None:
    producer = Producer(producer_config(bootstrap, "bench-config"))
    for key, value in values.items():
        producer.produce(Topic.CONFIG, value, key)
    if producer.flush(30):
        raise AdminError("the brokers did not acknowledge the bench's configuration within 30 s")
