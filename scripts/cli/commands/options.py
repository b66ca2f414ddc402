"""Options that several commands share."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from scripts.documents.problems import did_you_mean
from scripts.documents.snapshot import Snapshot
from shared.contracts.document_items import DocumentKey, StoredDocument
from shared.contracts.documents import KINDS
from shared.runtime.errors import OperatorError, UsageError

Data = Annotated[
    Path,
    typer.Option("--data", envvar="HIFI_DATA", help="Folder of the local side.", file_okay=False),
]
"""Folder of the side; use with the default `DATA_DEFAULT`."""

DATA_DEFAULT = Path(".hifi")


class Kind(StrEnum):
    """Kinds of documents."""

    SOURCE = "source"
    DESTINATION = "destination"
    PIPE = "pipe"
    CONTACT = "contact"


Files = Annotated[list[Path], typer.Argument(help="YAML files, folders of them, or - for standard input.")]
DocumentName = Annotated[str, typer.Argument(metavar="KIND/NAME", help="The document, such as pipe/first.")]
Tenant = Annotated[str | None, typer.Option(help="Whose document, if several have one of that name.")]


def stored_document(seen: Snapshot, text: str, tenant: str | None) -> StoredDocument:
    """The newest version, perhaps the deletion, of the document that `KIND/NAME` names.

    Raises:
        UsageError: if the text names none.
        OperatorError: if there never was one, or several tenants have one.
    """
    kind, slash, name = text.partition("/")
    if not (slash and name):
        raise UsageError(f"{text!r} names no document: write KIND/NAME, for example pipe/first")
    if kind not in KINDS:
        raise UsageError(f"unknown kind {kind!r}: {did_you_mean(kind, KINDS)}")
    found = [each for each in seen.find(kind, name) if tenant in (None, each.tenant)]
    if not found:
        whose = "" if tenant is None else f" of tenant {tenant!r}"
        raise OperatorError(f"there never was a {kind} {name!r}{whose}", f"`hifi get {kind}` lists them")
    if len(found) > 1:
        owners = ", ".join(sorted(each.tenant for each in found))
        raise OperatorError(f"several tenants have a {DocumentKey(kind, name)}: {owners}", "add --tenant")
    return found[0]
