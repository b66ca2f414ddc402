"""The write keys of customers, by which the edge knows the customer of each event that it passes on."""

from collections.abc import Iterable, Mapping, Sequence

from shared.contracts.documents import SEALED_PREFIX, Source
from shared.dynamodb.document_reader import DocumentReader


def key_digests(documents: DocumentReader, tenants: Iterable[str]) -> Mapping[str, Sequence[str]]:
    """SHA-256 of each write key, hexadecimal, by tenant; a tenant without a source has none.

    Raises:
        StoreError: if the table cannot be used.
    """
    return {each: _digests(documents, each) for each in tenants}


def _digests(documents: DocumentReader, tenant: str) -> Sequence[str]:
    return [
        key.removeprefix(SEALED_PREFIX)
        for stored in documents.documents(tenant)
        if isinstance(stored.document, Source)
        for key in stored.document.write_keys
    ]
