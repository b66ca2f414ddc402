"""`hifi revert`."""

from typing import Annotated

import typer

from scripts.cli.commands.options import DocumentName, Server, SideFolder, Tenant
from scripts.cli.document_names import document_key, stored_document
from scripts.cli.plans import problems_shown, show
from scripts.documents.api_client import RefusedError
from scripts.documents.files import without_file
from scripts.documents.refusals import located
from scripts.documents.text import to_yaml
from scripts.local.client.documents import documents_at
from shared.contracts.document_items import StoredDocument
from shared.contracts.documents import Entry
from shared.documents.problems import ProblemsError
from shared.runtime.errors import OperatorError


def revert(
    document: DocumentName,
    to: Annotated[int, typer.Option("--to", min=1, help="Version, as `hifi history` lists it.")],
    tenant: Tenant = None,
    server: Server = None,
    data: SideFolder = None,
) -> None:
    """Bring an earlier version of a document back, as its newest; also of one that was deleted.

    It is checked as by `apply`. Returns when it is published.
    """
    key = document_key(document)
    documents = documents_at(server, data)
    newest = stored_document(documents, key, tenant)
    former = _version(documents.history(newest.tenant, newest.key), newest, to)
    with problems_shown():
        try:
            step = documents.revert(former)
        except RefusedError as error:
            raise _explained(error, former) from error
    show([step])


def _explained(error: RefusedError, former: StoredDocument) -> OperatorError:
    """The problems of a version, each at its line; the refusal itself if it names no field of the version."""
    assert former.document is not None
    text = to_yaml([Entry(version=former.version, document=former.document)])
    shown = without_file(former.document, f"{former.key} version {former.version}", text)
    problems = located(error.errors, [shown])
    return ProblemsError(problems) if problems else error


def _version(versions: list[StoredDocument], newest: StoredDocument, to: int) -> StoredDocument:
    found = next((each for each in versions if each.version == to), None)
    if found is None:
        known = f"it has {versions[-1].version} to {newest.version}"
        raise OperatorError(f"{newest.key} has no version {to}: {known}", f"`hifi history {newest.key}`")
    if found.document is None:
        kind, name = newest.key.kind, newest.key.name
        raise OperatorError(f"version {to} of {newest.key} is its deletion", f"`hifi delete {kind} {name}`")
    return found
