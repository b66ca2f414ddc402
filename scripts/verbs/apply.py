"""`hifi apply`."""

from pathlib import Path
from typing import Annotated

import typer
from confluent_kafka import KafkaException

from scripts.config.connection import NotRunningError, side_bootstrap
from scripts.config.files import read_documents
from scripts.config.plan import Change, plan
from scripts.config.problems import ProblemsError
from scripts.config.topic import publish, read_catalogue
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
        changed = {
            step.key: encode_entry(step.entry) for step in steps if step.change is not Change.UNCHANGED
        }
        if not dry_run:
            publish(bootstrap, changed)
    except ProblemsError as error:
        _refuse(error)
    except (NotRunningError, TimeoutError, KafkaException) as error:
        fail(str(error))
    table = plain_table("KIND", "NAME", "VERSION", "")
    for step in steps:
        kind, _, name = step.key.decode().partition("/")
        table.add_row(kind, name, str(step.entry.version), f"[{_STYLES[step.change]}]{step.change}[/]")
    out().print(table)


def _refuse(error: Exception) -> None:
    console = err()
    lines = str(error).splitlines()
    for line in lines:
        console.print(line, markup=False, soft_wrap=True)
    console.print(f"[bold red]nothing was applied[/]: {len(lines)} problem{'s' * (len(lines) > 1)}")
    raise typer.Exit(REFUSED)
