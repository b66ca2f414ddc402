"""`hifi revert`."""

from typing import Annotated

import typer

from scripts.cli.commands.options import DATA_DEFAULT, Data, DocumentName, Tenant
from scripts.cli.document_names import document_key, stored_document
from scripts.cli.plans import planned, problems_shown, say, show
from scripts.documents.files import located
from scripts.documents.text import to_yaml
from scripts.local.documents import side_documents
from shared.contracts.document_items import StoredDocument
from shared.contracts.documents import Document, Entry
from shared.runtime.errors import OperatorError


def revert(
    document: DocumentName,
    to: Annotated[int, typer.Option("--to", min=1, help="Version, as `hifi history` lists it.")],
    tenant: Tenant = None,
    data: Data = DATA_DEFAULT,
) -> None:
    """Bring an earlier version of a document back, as its newest; also of one that was deleted.

    It is checked as by `apply`. Returns when it is published.
    """
    key = document_key(document)
    documents = side_documents(data)
    seen = documents.snapshot()
    newest = stored_document(seen, key, tenant)
    former = _version(documents.history(newest.tenant, newest.key), newest, to)
    text = to_yaml([Entry(version=to, document=former)])
    with problems_shown():
        steps = planned([located(former, f"{newest.key} version {to}", text)], seen)
        documents.apply(steps, seen, say)
    show(steps)


def _version(versions: list[StoredDocument], newest: StoredDocument, to: int) -> Document:
    found = next((each for each in versions if each.version == to), None)
    if found is None:
        known = f"it has {versions[-1].version} to {newest.version}"
        raise OperatorError(f"{newest.key} has no version {to}: {known}", f"`hifi history {newest.key}`")
    if found.document is None:
        kind, name = newest.key.kind, newest.key.name
        raise OperatorError(f"version {to} of {newest.key} is its deletion", f"`hifi delete {kind} {name}`")
    return found.document
