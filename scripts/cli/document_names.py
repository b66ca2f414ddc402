"""Finds the document that the command line names."""

from collections.abc import Sequence

from scripts.documents.side_documents import SideDocuments
from shared.contracts.document_items import DocumentKey, StoredDocument
from shared.contracts.documents import KINDS
from shared.runtime.errors import OperatorError, UsageError, did_you_mean


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
        OperatorError: if there never was one, or several tenants have one of that name.
    """
    found = documents.find(key, tenant)
    if not found:
        whose = "" if tenant is None else f" of tenant {tenant!r}"
        raise OperatorError(f"there never was a {key}{whose}", f"`hifi get {key.kind}` lists them")
    return _only(found, key)


def live_document(documents: SideDocuments, key: DocumentKey, tenant: str | None) -> StoredDocument:
    """A document that is there.

    Raises:
        OperatorError: if there is none, or several tenants have one of that name.
    """
    found = [each for each in documents.find(key, tenant) if each.document is not None]
    if not found:
        raise OperatorError(f"there is no {key.kind} {key.name!r}", f"`hifi get {key.kind}` lists them")
    return _only(found, key)


def _only(found: Sequence[StoredDocument], key: DocumentKey) -> StoredDocument:
    if len(found) > 1:
        tenants = ", ".join(each.tenant for each in found)
        raise OperatorError(f"several tenants have a {key}: {tenants}", "say whose it is with --tenant")
    return found[0]
