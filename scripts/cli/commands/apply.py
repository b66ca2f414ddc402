"""`hifi apply`."""

from typing import Annotated

import typer

from scripts.cli.commands.options import Files, Server, SideFolder
from scripts.cli.plans import checked, problems_shown, say, show, show_key
from scripts.documents.files import read_documents
from scripts.local.client.documents import documents_at
from scripts.terminal import err


def apply(
    files: Files,
    server: Server = None,
    data: SideFolder = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Check and show the changes, write nothing.")
    ] = False,
) -> None:
    """Write sources, destinations, pipes and contacts: all of them, or none if one is invalid.

    Returns when they are published; a running side uses them within ten seconds. A new source applied
    together with its pipes is opened once they are in force, so that they miss none of its events. Unchanged
    documents stay as they are. A source without `write_keys` keeps its keys; a new one is given one, which
    is shown once.
    """
    with problems_shown():
        written = read_documents(files)
        documents = documents_at(server, data)
        steps = checked(written, documents)
    if not dry_run:
        steps = documents.write([each.wanted for each in written], steps, say, show_key)
    show(steps)
    if dry_run:
        err().print("[yellow]dry run[/]: nothing was written")
