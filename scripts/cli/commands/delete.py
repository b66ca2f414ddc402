"""`hifi delete`."""

from typing import Annotated

import typer

from scripts.cli.commands.options import DATA_DEFAULT, Data, Kind
from scripts.documents.plan import users
from scripts.documents.topic import PublishError, publish, read_catalogue
from scripts.local.connection import NotRunningError, side_bootstrap
from scripts.terminal import fail, out
from shared.contracts.documents import topic_key


def delete(
    kind: Annotated[Kind, typer.Argument(help="Kind of the document.")],
    name: Annotated[str, typer.Argument(help="Name of the document.")],
    force: Annotated[bool, typer.Option("--force", help="Even if a pipe still uses it.")] = False,
    data: Data = DATA_DEFAULT,
) -> None:
    """Delete a document; events on their way to a deleted destination or pipe become dead letters."""
    try:
        bootstrap = side_bootstrap(data)
        published = read_catalogue(bootstrap)
        key = topic_key(kind, name)
        if key not in published.entries:
            fail(f"there is no {kind} {name!r}", f"`hifi get {kind}` lists them")
        if (pipes := users(published, kind, name)) and not force:
            fail(f"{kind} {name!r} is used by pipe {', '.join(pipes)}", "delete those first, or add --force")
        publish(bootstrap, {key: None})
    except (NotRunningError, TimeoutError, PublishError) as error:
        fail(str(error))
    out().print(f"{kind} {name} [green]deleted[/]")
