"""The documents of the bench: one source, one destination, one pipe with a pattern."""

from typing import Final

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from scripts.documents import topic
from shared.contracts.documents import Destination, Document, Pipe, Source
from shared.contracts.topics import Topic

WRITE_KEY: Final = "bench-write-key"
NAME: Final = "bench"
"""Name of the source, the destination, the pipe and their tenant."""


def documents(url: str) -> list[Document]:
    """All events of the source go to `url`; the pattern matches them all, but must be evaluated."""
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
    """Whether the `config` topic exists."""
    try:
        return Topic.CONFIG in admin.list_topics(timeout=2.0).topics
    except KafkaException:
        return False  # no broker answers yet


def publish(bootstrap: str, url: str) -> None:
    """Publish the documents.

    Raises:
        PublishError: if the brokers do not acknowledge.
    """
    topic.publish(bootstrap, topic.records_of(documents(url)))


def retire(bootstrap: str) -> None:
    """Delete the documents.

    Raises:
        PublishError: if the brokers do not acknowledge.
    """
    topic.publish(bootstrap, topic.tombstones_of(documents("http://nowhere/")))
