"""`hifi apply`."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from scripts.cli.commands.options import DATA_DEFAULT, Data
from scripts.documents.files import read_documents
from scripts.documents.plan import plan
from scripts.documents.topic import publish_steps, read_catalogue
from scripts.local.connection import side_bootstrap, side_reach
from scripts.terminal import REFUSED, err, out, plain_table
from shared.contracts.publish_plan import PlannedDocument
from shared.documents.problems import ProblemsError

_STYLES = {"created": "green", "changed": "yellow", "unchanged": "dim"}


def apply(
    files: Annotated[
        list[Path], typer.Argument(help="YAML files, folders of them, or - for standard input.")
    ],
    data: Data = DATA_DEFAULT,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Check and show the changes, publish nothing.")
    ] = False,
) -> None:
    """Publish sources, destinations, pipes and contacts: all of them, or none if one is invalid.

    A running side uses them within ten seconds. A new source applied together with its pipes is opened once
    they are in force, so that they miss none of its events. Unchanged documents stay as they are.
    """
    try:
        written = read_documents(files)
        bootstrap = side_bootstrap(data)
        steps = plan(written, read_catalogue(bootstrap), side_reach())
        if not dry_run:
            publish_steps(bootstrap, steps, lambda text: err().print(f"[dim]{text}[/]"))
    except ProblemsError as error:
        _refuse(error)
    _show(steps)
    if dry_run:
        err().print("[yellow]dry run[/]: nothing was published")


def _show(steps: Sequence[PlannedDocument]) -> None:
    table = plain_table("KIND", "NAME", "VERSION", "")
    for step in steps:
        kind, _, name = step.key.decode().partition("/")
        table.add_row(kind, name, str(step.entry.version), f"[{_STYLES[step.change]}]{step.change}[/]")
    out().print(table)


def _refuse(error: ProblemsError) -> NoReturn:
    console = err()
    for problem in error.problems:
        console.print(str(problem), markup=False, soft_wrap=True)
    count = len(error.problems)
    console.print(f"[bold red]nothing was applied[/]: {count} problem{'s' * (count > 1)}")
    raise typer.Exit(REFUSED)
