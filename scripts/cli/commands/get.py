"""`hifi get`."""

from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from scripts.cli.commands.options import DATA_DEFAULT, Server, SideFolder, Tenant
from scripts.documents.publication import in_words
from scripts.documents.side_documents import SideDocuments
from scripts.documents.text import in_short, to_json, to_yaml
from scripts.local.client.connection import side_bootstrap
from scripts.local.client.documents import documents_at
from scripts.terminal import out, plain_table
from shared.contracts.documents import OWN_TENANTS, DocumentKind, Entry, kind_of
from shared.runtime.errors import OperatorError


class Form(StrEnum):
    """How documents are printed."""

    TABLE = "table"
    YAML = "yaml"
    JSON = "json"


def get(  # noqa: PLR0913, PLR0917 - one parameter an option
    kind: Annotated[DocumentKind | None, typer.Argument(help="Only documents of this kind.")] = None,
    name: Annotated[str | None, typer.Argument(help="Only this document.")] = None,
    output: Annotated[
        Form | None, typer.Option("--output", "-o", help="Default: a table; YAML for one document.")
    ] = None,
    everything: Annotated[
        bool,
        typer.Option("--all", help="Include hifi's own documents on a local side: canary's and warm-up's."),
    ] = False,
    tenant: Tenant = None,
    server: Server = None,
    data: SideFolder = None,
) -> None:
    """Show documents: a table of them, or one as YAML.

    Write keys appear as hashes: the keys themselves are not stored.
    """
    shown = _documents(documents_at(server, data), tenant)
    if everything:
        shown += [(entry, "") for entry in _own(data or DATA_DEFAULT)]
    chosen = [
        (entry, status)
        for entry, status in shown
        if kind in (None, kind_of(entry.document)) and name in (None, entry.document.name)
    ]
    if name and not chosen:
        raise OperatorError(f"there is no {kind} {name!r}", f"`hifi get {kind}` lists them")
    _show(chosen, output or (Form.YAML if name else Form.TABLE))


def _documents(documents: SideDocuments, tenant: str | None) -> list[tuple[Entry, str]]:
    """Each with its status in words."""
    return [
        (Entry(version=each.stored.version, document=each.stored.document), in_words(each.status))
        for owner in ([tenant] if tenant is not None else documents.tenants())
        for each in documents.listed(owner)
        if each.stored.document is not None
    ]


def _own(data: Path) -> Iterable[Entry]:
    """hifi's own documents: the nodes that use them publish them themselves, past the table."""
    from scripts.documents.topic import read_catalogue  # noqa: PLC0415 - a third of the imports, for this alone

    published = read_catalogue(side_bootstrap(data)).entries.values()
    return [entry for entry in published if entry.document.tenant in OWN_TENANTS]


def _show(shown: list[tuple[Entry, str]], form: Form) -> None:
    entries = [entry for entry, _ in shown]
    if form is not Form.TABLE:
        typer.echo(to_yaml(entries).rstrip() if form is Form.YAML else to_json(entries))
        return
    table = plain_table("KIND", "NAME", "VERSION", "TENANT", "STATUS", "WHAT")
    for entry, status in shown:
        document = entry.document
        table.add_row(
            kind_of(document),
            document.name,
            str(entry.version),
            document.tenant,
            status,
            Text(in_short(document), no_wrap=True, overflow="ellipsis"),
        )
    out().print(table) if entries else out().print(
        "there are no documents yet: `hifi apply FILE` writes some"
    )
