"""`hifi keys` and its subcommands."""

import json
from datetime import UTC, datetime
from typing import Annotated

import typer
from rich.text import Text

from scripts.cli.commands.options import Server, SideFolder, Tenant
from scripts.cli.document_names import live_document
from scripts.documents.side_documents import SideDocuments
from scripts.local.client.documents import documents_at
from scripts.terminal import err, out, plain_table, printable
from shared.contracts.document_items import DocumentKey, StoredDocument

GROUP = typer.Typer(no_args_is_help=True)

SourceName = Annotated[str, typer.Argument(metavar="SOURCE", help="Name of the source.")]


@GROUP.callback()
def keys() -> None:
    """Make, list and remove the write keys of a source; several are valid at a time, for rotation."""


@GROUP.command("list")
def list_keys(
    source: SourceName,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    tenant: Tenant = None,
    server: Server = None,
    data: SideFolder = None,
) -> None:
    """List the keys of a source: who made each, its last four characters, and when it was last used.

    A use is listed after ten minutes at the latest.
    """
    documents = documents_at(server, data)
    found = documents.write_keys(_source(documents, source, tenant).tenant, source)
    if as_json:
        typer.echo(json.dumps(found, indent=2, ensure_ascii=False))
        return
    table = plain_table("ID", "LAST FOUR", "MADE", "LAST USED", "BY", "LABEL")
    for each in found:
        by, label = Text(printable(each["made_by"] or "")), Text(printable(each["label"] or ""))
        times = (_moment(each["made_ms"]), _moment(each["used_ms"]) or "not yet")
        table.add_row(each["id"], each["last_four"] or "", *times, by, label)
    out().print(table)


@GROUP.command("add")
def add_key(
    source: SourceName,
    label: Annotated[str, typer.Option(help="What the key is for, for example the name of a service.")],
    tenant: Tenant = None,
    server: Server = None,
    data: SideFolder = None,
) -> None:
    """Make a key, and print it: it is not stored, and never shown again.

    Returns when it is published; a running side takes it within ten seconds.
    """
    documents = documents_at(server, data)
    found = _source(documents, source, tenant)
    made = documents.add_write_key(found.tenant, source, label)
    typer.echo(made["key"])  # before anything else can fail
    err().print(f"[dim]key {made['id']} of source {source}; those from before stay valid[/]")
    documents.wait_published(found.tenant, found.key)


@GROUP.command("remove")
def remove_key(
    source: SourceName,
    key: Annotated[str, typer.Argument(metavar="ID", help="The key's id, as `hifi keys list` shows it.")],
    tenant: Tenant = None,
    server: Server = None,
    data: SideFolder = None,
) -> None:
    """Remove a key: events sent with it are refused from then on. The last one stays.

    Returns when that is published; a running side refuses them within ten seconds.
    """
    documents = documents_at(server, data)
    found = _source(documents, source, tenant)
    documents.remove_write_key(found.tenant, source, key)
    documents.wait_published(found.tenant, found.key)
    out().print(f"key {key} of source {source} [green]removed[/]")


def _moment(at_ms: int | None) -> str:
    """Date and time in UTC, to the second."""
    return "" if at_ms is None else f"{datetime.fromtimestamp(at_ms // 1000, UTC):%Y-%m-%dT%H:%M:%SZ}"


def _source(documents: SideDocuments, source: str, tenant: str | None) -> StoredDocument:
    return live_document(documents, DocumentKey("source", source), tenant)
