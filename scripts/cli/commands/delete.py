"""`hifi delete`."""

from typing import Annotated

import typer

from scripts.cli.commands.options import Server, SideFolder, Tenant
from scripts.cli.document_names import live_document
from scripts.local.client.documents import documents_at
from scripts.terminal import out
from shared.contracts.document_items import DocumentKey, StoredDocument
from shared.contracts.documents import DocumentKind, Pipe
from shared.runtime.errors import OperatorError


def delete(  # noqa: PLR0913, PLR0917 - one parameter an option
    kind: Annotated[DocumentKind, typer.Argument(help="Kind of the document.")],
    name: Annotated[str, typer.Argument(help="Name of the document.")],
    with_pipes: Annotated[
        bool, typer.Option("--with-pipes", help="Delete the pipes that use it as well.")
    ] = False,
    tenant: Tenant = None,
    server: Server = None,
    data: SideFolder = None,
) -> None:
    """Delete a document; events under way to a deleted destination or pipe become dead letters."""
    documents = documents_at(server, data)
    found = live_document(documents, DocumentKey(kind, name), tenant)
    pipes = _users(found, documents.current(found.tenant))
    if pipes and not with_pipes:
        used = f"{kind} {name!r} is used by pipe {', '.join(each.key.name for each in pipes)}"
        raise OperatorError(used, "delete that first, or add --with-pipes")
    documents.delete(found.tenant, [*pipes, found])
    for each in (*pipes, found):
        out().print(f"{each.key.kind} {each.key.name} [green]deleted[/]")


def _users(of: StoredDocument, among: list[StoredDocument]) -> list[StoredDocument]:
    """The pipes that use a source or destination."""
    if of.key.kind not in ("source", "destination"):
        return []
    return [
        each
        for each in among
        if isinstance(each.document, Pipe) and getattr(each.document, of.key.kind) == of.key.name
    ]
