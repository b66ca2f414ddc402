"""`hifi history`."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated, Any

import typer
from rich.text import Text

from scripts.cli.commands.options import DocumentName, Server, SideFolder, Tenant
from scripts.cli.document_names import document_key, stored_document
from scripts.documents.text import as_mapping, in_short
from scripts.local.client.documents import documents_at
from scripts.terminal import out, plain_table, printable
from shared.contracts.document_items import StoredDocument


def history(
    document: DocumentName,
    tenant: Tenant = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, with every version whole.")] = False,
    server: Server = None,
    data: SideFolder = None,
) -> None:
    """Show every version of a document, newest first: when, by whom, and what it was.

    Deletions are versions too. `hifi revert` brings an earlier one back.
    """
    key = document_key(document)
    documents = documents_at(server, data)
    newest = stored_document(documents, key, tenant)
    versions = documents.history(newest.tenant, newest.key)
    if as_json:
        typer.echo(json.dumps([_mapping(each) for each in versions], indent=2, ensure_ascii=False))
    else:
        _show(versions)


def _show(versions: Sequence[StoredDocument]) -> None:
    table = plain_table("VERSION", "WHEN", "BY", "WHAT")
    for each in versions:
        what = "deleted" if each.document is None else in_short(each.document)
        shown = Text(printable(what), no_wrap=True, overflow="ellipsis")
        table.add_row(str(each.version), _when(each), Text(printable(each.by)), shown)
    out().print(table)


def _mapping(each: StoredDocument) -> dict[str, Any]:
    document = None if each.document is None else as_mapping(each.document)
    return {"version": each.version, "at": _when(each), "by": each.by, "document": document}


def _when(each: StoredDocument) -> str:
    return datetime.fromtimestamp(each.at_ms / 1000, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
