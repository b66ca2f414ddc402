"""The documents of the isolation run: one source, and a pipe to each destination."""

from collections.abc import Iterable

from scripts.documents.side_documents import SideDocuments
from scripts.experiments.harness.documents import NAME, WRITE_KEY
from scripts.experiments.noisy_neighbour.destinations import BAD
from shared.contracts.document_parsing import parse
from shared.contracts.documents import Document

GOOD = tuple(f"good-{number}" for number in range(16))


def put(documents: SideDocuments, url: str) -> None:
    """Write the source and the good destinations; returns when they are published.

    Raises:
        DocumentsError, KafkaUnavailableError: if they cannot be written, or are not published.
    """
    source = parse({"kind": "source", "name": NAME, "tenant": NAME, "write_keys": [WRITE_KEY]})
    documents.put([source, *_to(GOOD, url)])


def put_bad(documents: SideDocuments, url: str) -> None:
    """Write the bad destinations too.

    Raises:
        DocumentsError, KafkaUnavailableError: if they cannot be written, or are not published.
    """
    documents.put(_to(BAD, url))


def remove_bad(documents: SideDocuments) -> None:
    """Delete the bad destinations; their waiting events become dead letters at their next attempt.

    Raises:
        DocumentsError, KafkaUnavailableError: if they cannot be written, or are not published.
    """
    documents.remove(_to(BAD, "http://nowhere"))


def _to(names: Iterable[str], url: str) -> list[Document]:
    documents: list[Document] = []
    for name in names:
        both = {"name": name, "tenant": NAME}
        documents += [
            parse({"kind": "destination", "options": {"url": f"{url}/{name}"}, **both}),
            parse({"kind": "pipe", "source": NAME, "destination": name, **both}),
        ]
    return documents
