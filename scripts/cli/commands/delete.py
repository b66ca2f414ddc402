"""`hifi delete`."""

from typing import Annotated

import typer

from scripts.cli.commands.options import DATA_DEFAULT, Data, Kind
from scripts.documents.plan import users
from scripts.local.documents import side_documents
from scripts.terminal import out
from shared.runtime.errors import OperatorError


def delete(
    kind: Annotated[Kind, typer.Argument(help="Kind of the document.")],
    name: Annotated[str, typer.Argument(help="Name of the document.")],
    force: Annotated[bool, typer.Option("--force", help="Delete it even if a pipe uses it.")] = False,
    data: Data = DATA_DEFAULT,
) -> None:
    """Delete a document; events under way to a deleted destination or pipe become dead letters."""
    documents = side_documents(data)
    seen = documents.snapshot()
    found = [each for each in seen.find(kind, name) if each.document is not None]
    if not found:
        raise OperatorError(f"there is no {kind} {name!r}", f"`hifi get {kind}` lists them")
    if (pipes := users(seen.catalogue, kind, name)) and not force:
        used = f"{kind} {name!r} is used by pipe {', '.join(pipes)}"
        raise OperatorError(used, "delete that first, or add --force")
    documents.delete(found[:1])
    out().print(f"{kind} {name} [green]deleted[/]")
