"""The documents of the isolation run: one source, and a pipe to each destination."""

from collections.abc import Iterable

from scripts.documents import topic
from scripts.experiments.harness.documents import NAME, WRITE_KEY
from scripts.experiments.noisy_neighbour.destinations import BAD
from shared.contracts.documents import Document, parse

GOOD = tuple(f"good-{number}" for number in range(16))


def publish(bootstrap: str, url: str) -> None:
    """Publish the source and the good destinations.

    Raises:
        PublishError: if the brokers do not acknowledge.
    """
    source = parse({"kind": "source", "name": NAME, "tenant": NAME, "write_keys": [WRITE_KEY]})
    topic.publish(bootstrap, topic.records_of([source, *_to(GOOD, url)]))


def publish_bad(bootstrap: str, url: str) -> None:
    """Publish the bad destinations too.

    Raises:
        PublishError: if the brokers do not acknowledge.
    """
    topic.publish(bootstrap, topic.records_of(_to(BAD, url)))


def retire_bad(bootstrap: str) -> None:
    """Delete the bad destinations; their waiting events become dead letters at their next attempt.

    Raises:
        PublishError: if the brokers do not acknowledge.
    """
    topic.publish(bootstrap, topic.tombstones_of(_to(BAD, "http://nowhere")))


def _to(names: Iterable[str], url: str) -> list[Document]:
    documents: list[Document] = []
    for name in names:
        both = {"name": name, "tenant": NAME}
        documents += [
            parse({"kind": "destination", "options": {"url": f"{url}/{name}"}, **both}),
            parse({"kind": "pipe", "source": NAME, "destination": name, **both}),
        ]
    return documents
