"""Helpers of the commands that write documents: plans shown, and problems at their places."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

import typer

from scripts.documents.api_client import RefusedError
from scripts.documents.bundle import Action, Step
from scripts.documents.files import LocatedDocument
from scripts.documents.refusals import located, refuse_together
from scripts.documents.side_documents import SideDocuments
from scripts.terminal import REFUSED, err, out, plain_table
from shared.documents.problems import ProblemsError

_SHOWN: Final = {
    Action.CREATE: "[green]created[/]",
    Action.CHANGE: "[yellow]changed[/]",
    Action.DELETE: "[red]deleted[/]",
    Action.NONE: "[dim]unchanged[/]",
}


def checked(written: Sequence[LocatedDocument], documents: SideDocuments) -> list[Step]:
    """The steps that writing documents would take; nothing is written.

    Raises:
        ProblemsError: if one is refused, with its place.
    """
    refuse_together(written)
    try:
        return documents.check([each.wanted for each in written])
    except RefusedError as error:
        problems = located(error.errors, written)
        if not problems:
            raise
        raise ProblemsError(problems) from error


def say(text: str) -> None:
    """A line of progress."""
    err().print(f"[dim]{text}[/]")


def show(steps: Sequence[Step]) -> None:
    """Print steps as a table."""
    table = plain_table("KIND", "NAME", "VERSION", "")
    for step in steps:
        table.add_row(step.kind, step.name, str(step.after or ""), _SHOWN[step.action])
    out().print(table)


def show_key(step: Step) -> None:
    """Print the write key that a new source was given."""
    err().print(f"write key of {step.name}, shown only now: [bold]{step.write_key}[/]", soft_wrap=True)


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
