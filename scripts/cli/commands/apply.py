"""`hifi apply`."""

from typing import Annotated

import typer

from scripts.cli.commands.options import DATA_DEFAULT, Data, Files
from scripts.cli.plans import planned, problems_shown, say, show
from scripts.documents.files import read_documents
from scripts.local.documents import side_documents
from scripts.terminal import err


def apply(
    files: Files,
    data: Data = DATA_DEFAULT,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Check and show the changes, write nothing.")
    ] = False,
) -> None:
    """Publish sources, destinations, pipes and contacts: all of them, or none if one is invalid.

    Returns when they are published; a running side uses them within ten seconds. A new source applied
    together with its pipes is opened once they are in force, so that they miss none of its events. Unchanged
    documents stay as they are.
    """
    with problems_shown():
        written = read_documents(files)
        documents = side_documents(data)
        seen = documents.snapshot()
        steps = planned(written, seen)
        if not dry_run:
            documents.apply(steps, seen, say)
    show(steps)
    if dry_run:
        err().print("[yellow]dry run[/]: nothing was written")
