"""`hifi delete`."""

from typing import Annotated

import typer

from scripts.cli.commands.options import DATA_DEFAULT, Data, Kind
from scripts.documents.plan import users
from scripts.documents.topic import publish, read_catalogue
from scripts.local.connection import side_bootstrap
from scripts.terminal import out
from shared.contracts.documents import topic_key
from shared.runtime.errors import OperatorError


def delete(
    kind: Annotated[Kind, typer.Argument(help="Kind of the document.")],
    name: Annotated[str, typer.Argument(help="Name of the document.")],
    force: Annotated[bool, typer.Option("--force", help="Delete it even if a pipe uses it.")] = False,
    data: Data = DATA_DEFAULT,
) -> None:
    """Delete a document; events under way to a deleted destination or pipe become dead letters."""
    bootstrap = side_bootstrap(data)
    published = read_catalogue(bootstrap)
    key = topic_key(kind, name)
    if key not in published.entries:
        raise OperatorError(f"no {kind} {name!r} is published", f"`hifi get {kind}` lists them")
    if (pipes := users(published, kind, name)) and not force:
        used = f"{kind} {name!r} is used by pipe {', '.join(pipes)}"
        raise OperatorError(used, "delete that first, or add --force")
    publish(bootstrap, {key: None})
    out().print(f"{kind} {name} [green]deleted[/]")
