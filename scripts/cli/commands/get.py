"""`hifi get`."""

from enum import StrEnum
from typing import Annotated

import typer
from rich.text import Text

from scripts.cli.commands.options import DATA_DEFAULT, Data, Kind
from scripts.documents.publication import Entries
from scripts.documents.text import in_short, to_json, to_yaml
from scripts.local.documents import side_documents
from scripts.terminal import out, plain_table
from shared.contracts.documents import Entry, kind_of
from shared.runtime.errors import OperatorError


class Form(StrEnum):
    """How documents are printed."""

    TABLE = "table"
    YAML = "yaml"
    JSON = "json"


def get(
    kind: Annotated[Kind | None, typer.Argument(help="Only documents of this kind.")] = None,
    name: Annotated[str | None, typer.Argument(help="Only this document.")] = None,
    output: Annotated[
        Form | None, typer.Option("--output", "-o", help="Default: a table; YAML for one document.")
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Include hifi's own documents: the canary's and the warm-up's.")
    ] = False,
    data: Data = DATA_DEFAULT,
) -> None:
    """Show documents: a table of them, or one as YAML.

    Write keys appear as hashes: the keys themselves are not stored.
    """
    documents = side_documents(data)
    chosen = _chosen(documents.snapshot().catalogue.entries, kind, name)
    if everything or (name and not chosen):
        chosen += _chosen(documents.own(), kind, name)
    if name and not chosen:
        raise OperatorError(f"there is no {kind} {name!r}", f"`hifi get {kind}` lists them")
    _show(chosen, output or (Form.YAML if name else Form.TABLE))


def _chosen(entries: Entries, kind: Kind | None, name: str | None) -> list[Entry]:
    prefix = b"" if kind is None else f"{kind}/{name or ''}".encode()
    return [
        entry for key, entry in sorted(entries.items()) if (key == prefix if name else key.startswith(prefix))
    ]


def _show(entries: list[Entry], form: Form) -> None:
    if form is not Form.TABLE:
        typer.echo(to_yaml(entries).rstrip() if form is Form.YAML else to_json(entries))
        return
    table = plain_table("KIND", "NAME", "VERSION", "TENANT", "WHAT")
    for entry in entries:
        document = entry.document
        table.add_row(
            kind_of(document),
            document.name,
            str(entry.version),
            document.tenant,
            Text(in_short(document), no_wrap=True, overflow="ellipsis"),
        )
    out().print(table) if entries else out().print(
        "there are no documents yet: `hifi apply FILE` writes some"
    )
