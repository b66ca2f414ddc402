"""Plans of the commands that write documents: made, shown, and refused with their reasons."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import typer

from scripts.documents.files import LocatedDocument
from scripts.documents.plan import plan
from scripts.documents.snapshot import Snapshot
from scripts.local.connection import side_reach
from scripts.terminal import REFUSED, err, out, plain_table
from shared.contracts.publish_plan import PlannedDocument
from shared.documents.problems import ProblemsError

_STYLES = {"created": "green", "changed": "yellow", "unchanged": "dim"}


def planned(written: Sequence[LocatedDocument], seen: Snapshot) -> list[PlannedDocument]:
    """What writing documents would change.

    Raises:
        ProblemsError: if one contradicts another or a stored one, or dials a refused address.
    """
    return [seen.numbered(step) for step in plan(written, seen.catalogue, side_reach())]


def say(text: str) -> None:
    """A line of progress."""
    err().print(f"[dim]{text}[/]")


def show(steps: Sequence[PlannedDocument]) -> None:
    """Print a plan as a table."""
    table = plain_table("KIND", "NAME", "VERSION", "")
    for step in steps:
        kind, _, name = step.key.decode().partition("/")
        table.add_row(kind, name, str(step.entry.version), f"[{_STYLES[step.change]}]{step.change}[/]")
    out().print(table)


@contextmanager
def problems_shown() -> Iterator[None]:
    """Print the problems of documents, one a line, and end the command with REFUSED."""
    try:
        yield
    except ProblemsError as error:
        console = err()
        for problem in error.problems:
            console.print(str(problem), markup=False, soft_wrap=True)
        count = len(error.problems)
        console.print(f"[bold red]nothing was applied[/]: {count} problem{'s' * (count > 1)}")
        raise typer.Exit(REFUSED) from error
