"""`hifi apply`."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from scripts.config.connection import NotRunningError, side_bootstrap
from scripts.config.files import read_documents
from scripts.config.plan import Change, Step, plan
from scripts.config.problems import ProblemsError
from scripts.config.topic import PublishError, publish, read_catalogue
from scripts.console import REFUSED, err, fail, out, plain_table
from scripts.verbs.options import DATA_DEFAULT, Data
from shared.contracts.config import encode_entry

_STYLES = {"created": "green", "changed": "yellow", "unchanged": "dim"}


def apply(
    files: Annotated[
        list[Path], typer.Argument(help="YAML files, folders of them, or - for standard input.")
    ],
    data: Data = DATA_DEFAULT,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Check and show, publish nothing.")] = False,
) -> None:
    """Publish sources, destinations and pipes: all of them, or none if one is wrong.

    A running side uses them within ten seconds. Documents that are the same as before stay as they are.
    """
    try:
        written = read_documents(files)
        bootstrap = side_bootstrap(data)
        steps = plan(written, read_catalogue(bootstrap))
        if not dry_run:
            publish(bootstrap, _changes(steps))
    except ProblemsError as error:
        _refuse(error)
    except (NotRunningError, TimeoutError, PublishError) as error:
        fail(str(error))
    _show(steps)
    if dry_run:
        err().print("[yellow]dry run[/]: nothing was published")


def _changes(steps: Sequence[Step]) -> dict[bytes, bytes | None]:
    return {step.key: encode_entry(step.entry) for step in steps if step.change is not Change.UNCHANGED}


def _show(steps: Sequence[Step]) -> None:
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
