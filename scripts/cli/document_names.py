"""Finds the document that the command line names."""

from scripts.documents.side_documents import SideDocuments
from shared.contracts.document_items import DocumentKey, StoredDocument
from shared.contracts.documents import KINDS
from shared.documents.problems import did_you_mean
from shared.runtime.errors import OperatorError, UsageError


def document_key(text: str) -> DocumentKey:
    """The kind and name in `KIND/NAME`.

    Raises:
        UsageError: if the text is not that.
    """
    kind, slash, name = text.partition("/")
    if not (slash and name):
        raise UsageError(f"{text!r} names no document: write KIND/NAME, for example pipe/first")
    if kind not in KINDS:
        raise UsageError(f"unknown kind {kind!r}: {did_you_mean(kind, KINDS)}")
    return DocumentKey(kind, name)


def stored_document(documents: SideDocuments, key: DocumentKey, tenant: str | None) -> StoredDocument:
    """The newest version, perhaps the deletion, of a document.

    Raises:
        OperatorError: if there never was one.
    """
    found = documents.find(key, tenant)
    if found is None:
        whose = "" if tenant is None else f" of tenant {tenant!r}"
        raise OperatorError(f"there never was a {key}{whose}", f"`hifi get {key.kind}` lists them")
    return found


def live_document(documents: SideDocuments, key: DocumentKey, tenant: str | None) -> StoredDocument:
    """A document that is there.

    Raises:
        OperatorError: if there is none.
    """
    found = documents.find(key, tenant)
    if found is None or found.document is None:
        raise OperatorError(f"there is no {key.kind} {key.name!r}", f"`hifi get {key.kind}` lists them")
    return found
