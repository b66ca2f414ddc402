"""The configuration that the bench runs with: one source, one destination, one pipe with a pattern."""

from typing import Final

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from scripts.documents import topic
from shared.contracts.documents import Destination, Document, Pipe, Source
from shared.contracts.topics import Topic

WRITE_KEY: Final = "bench-write-key"
NAME: Final = "bench"
"""Of the source, the destination and the pipe, and their tenant."""


def documents(url: str) -> list[Document]:
    """Everything from the source goes to the destination at `url`; the pattern matches, but must be asked."""
    return [
        Source(name=NAME, tenant=NAME, write_keys=[WRITE_KEY]),
        Destination(name=NAME, tenant=NAME, options={"url": url}),
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
        PublishError: if the brokers do not acknowledge.
    """
    topic.publish(bootstrap, topic.records_of(documents(url)))


def retire(bootstrap: str) -> None:
    """Remove them again.

    Raises:
        PublishError: if the brokers do not acknowledge.
    """
    topic.publish(bootstrap, topic.tombstones_of(documents("http://nowhere/")))
