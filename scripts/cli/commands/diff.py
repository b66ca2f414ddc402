"""`hifi diff`."""

from collections.abc import Iterator
from difflib import unified_diff

import typer

from scripts.cli.commands.options import DATA_DEFAULT, Data, Files
from scripts.cli.plans import planned, problems_shown
from scripts.documents.files import read_documents
from scripts.documents.snapshot import Snapshot
from scripts.documents.text import to_yaml
from scripts.local.documents import side_documents
from scripts.terminal import REFUSED
from shared.contracts.documents import Entry
from shared.contracts.publish_plan import Change, PlannedDocument


def diff(files: Files, data: Data = DATA_DEFAULT) -> None:
    """Show what `apply` would change, as a unified diff; exit status 1 if it would change anything.

    Write keys appear as hashes.
    """
    with problems_shown():
        written = read_documents(files)
        seen = side_documents(data).snapshot()
        steps = planned(written, seen)
    lines = [line for step in steps for line in _lines(step, seen)]
    for line in lines:
        typer.echo(line)
    if lines:
        raise typer.Exit(REFUSED)


def _lines(step: PlannedDocument, seen: Snapshot) -> Iterator[str]:
    if step.change is Change.UNCHANGED:
        return iter(())
    former, name = seen.catalogue.entries.get(step.key), step.key.decode()
    return unified_diff(
        [] if former is None else _text(former),
        _text(step.entry),
        "/dev/null" if former is None else f"{name} version {former.version}",
        f"{name} version {step.entry.version}",
        lineterm="",
    )


def _text(entry: Entry) -> list[str]:
    return to_yaml([entry]).splitlines()[1:]
