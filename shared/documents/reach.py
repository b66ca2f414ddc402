"""Finds the addresses in a document that would be refused when hifi dials them. Pure."""

from collections.abc import Iterator
from urllib.parse import urlsplit

from shared.contracts.documents import Contact, Destination, Document
from shared.contracts.egress_policy import EgressPolicy, host_problem
from shared.documents.options import hosts


def out_of_reach(document: Document, reach: EgressPolicy) -> Iterator[tuple[str, str]]:
    """Paths in the document, and what is wrong with the hosts there: `message; fix`."""
    for path, host in _dialled(document):
        message = host_problem(host, reach)
        if message:
            yield path, message


def _dialled(document: Document) -> Iterator[tuple[str, str]]:
    """Hosts that hifi dials for a document, each with its path."""
    if isinstance(document, Destination):
        yield from hosts(document)
    if isinstance(document, Contact) and document.webhook is not None:
        yield "$.webhook", urlsplit(document.webhook).hostname or ""
