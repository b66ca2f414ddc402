"""Finds the document that the command line names."""

from scripts.documents.snapshot import Snapshot
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


def stored_document(seen: Snapshot, key: DocumentKey, tenant: str | None) -> StoredDocument:
    """The newest version, perhaps the deletion, of a document.

    Raises:
        OperatorError: if there never was one, or several tenants have one.
    """
    found = [each for each in seen.find(key.kind, key.name) if tenant in (None, each.tenant)]
    if not found:
        whose = "" if tenant is None else f" of tenant {tenant!r}"
        raise OperatorError(f"there never was a {key}{whose}", f"`hifi get {key.kind}` lists them")
    if len(found) > 1:
        owners = ", ".join(sorted(each.tenant for each in found))
        raise OperatorError(f"several tenants have a {key}: {owners}", "add --tenant")
    return found[0]
