"""`hifi diff`."""

from collections.abc import Iterator
from difflib import unified_diff

import typer
from msgspec.structs import replace

from scripts.cli.commands.options import Files, Server, SideFolder
from scripts.cli.plans import checked, problems_shown
from scripts.documents.bundle import Action, Step, Wanted
from scripts.documents.files import read_documents
from scripts.documents.side_documents import SideDocuments
from scripts.documents.text import to_yaml
from scripts.local.client.documents import documents_at
from scripts.terminal import REFUSED
from shared.contracts.documents import Document, Entry, Source, sealed


def diff(files: Files, server: Server = None, data: SideFolder = None) -> None:
    """Show what `apply` would change, as a unified diff; exit status 1 if it would change anything.

    Write keys appear as hashes.
    """
    with problems_shown():
        written = read_documents(files)
        documents = documents_at(server, data)
        steps = checked(written, documents)
    lines = [
        line
        for each, step in zip(written, steps, strict=True)
        if step.action is not Action.NONE
        for line in _lines(each.wanted, step, documents)
    ]
    for line in lines:
        typer.echo(line)
    if lines:
        raise typer.Exit(REFUSED)


def _lines(wanted: Wanted, step: Step, documents: SideDocuments) -> Iterator[str]:
    former = None
    if step.before is not None:
        former = documents.history(wanted.document.tenant, step.key, newest=1)[0].document
    return unified_diff(
        [] if former is None else _text(former),
        _text(_after(wanted, former)),
        "/dev/null" if former is None else f"{step.key} version {step.before}",
        f"{step.key} version {step.after}",
        lineterm="",
    )


def _after(wanted: Wanted, former: Document | None) -> Document:
    """The document after the write; a source that states no keys keeps those that it has."""
    document = sealed(wanted.document)
    if wanted.states_keys or not isinstance(document, Source):
        return document
    return replace(document, write_keys=former.write_keys if isinstance(former, Source) else ["(is made)"])


def _text(document: Document) -> list[str]:
    return to_yaml([Entry(version=0, document=document)]).splitlines()[1:]
