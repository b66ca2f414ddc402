"""Changes of the table of documents."""

from shared.contracts.document_items import Change, DocumentKey
from shared.contracts.documents import Document, kind_of


def change_of(document: Document, expected: int | None = None) -> Change:
    """The change that puts a sealed document in place."""
    key = DocumentKey(kind_of(document), document.name)
    return Change(key=key, document=document, expected=expected)
