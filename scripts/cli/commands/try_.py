"""`hifi try`."""

import sys
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer
from rich.text import Text

from scripts.cli.commands.options import Server, SideFolder, Tenant
from scripts.cli.document_names import live_document
from scripts.local.client.documents import documents_at
from scripts.terminal import REFUSED, out, plain_table, printable
from shared.contracts.document_items import DocumentKey
from shared.runtime.errors import OperatorError, UsageError
from shared.transformation import lossless_json


def try_(  # noqa: PLR0913, PLR0917 - one parameter an option
    event: Annotated[Path, typer.Argument(help="File with one CloudEvent as JSON, or - for standard input.")],
    source: Annotated[str | None, typer.Option(help="The source whose pipes are tried.")] = None,
    pipe: Annotated[str | None, typer.Option(help="Only this pipe.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, with what would leave.")] = False,
    tenant: Tenant = None,
    server: Server = None,
    data: SideFolder = None,
) -> None:
    """Show what pipes would do with an event: match, sample, masks, transform. Nothing is sent.

    Exit status 1 if it would leave through none of them.
    """
    if source is None and pipe is None:
        raise UsageError("say which pipes: --source NAME, --pipe NAME or both")
    documents = documents_at(server, data)
    named = DocumentKey("pipe", pipe) if pipe is not None else DocumentKey("source", str(source))
    whose = live_document(documents, named, tenant).tenant
    found = documents.tried(whose, _event(event), source, pipe)
    if as_json:
        typer.echo(msgspec.json.format(lossless_json.encode(found), indent=2).decode())
    else:
        _show(found)
    if not any(each["leaves"] for each in found):
        raise typer.Exit(REFUSED)


def _event(file: Path) -> Any:
    try:
        text = sys.stdin.buffer.read() if str(file) == "-" else file.read_bytes()
        return msgspec.Raw(text if msgspec.json.decode(text) is not None else b"")
    except OSError as error:
        raise OperatorError(f"{file} cannot be read: {error.strerror}") from error
    except (msgspec.DecodeError, RecursionError) as error:
        raise OperatorError(f"{file} is not JSON: {error}") from error


def _show(found: list[Any]) -> None:
    table = plain_table("PIPE", "LEAVES", "DESTINATION", "WHY")
    for each in found:
        to = each["destination"]["name"] if each["destination"] else ""
        leaves = "[green]yes[/]" if each["leaves"] else "[yellow]no[/]"
        table.add_row(Text(each["pipe"]), leaves, Text(to), Text(printable(_why(each)), overflow="ellipsis"))
    out().print(table)


def _why(each: Any) -> str:
    if each["problem"]:
        return str(each["problem"]["detail"])
    if each["unmet"]:
        unmet = each["unmet"]
        return f"{unmet['path']} is not {_text(unmet['wanted'])}: {_text(unmet['found'])}"
    if not each["sample"]["taken"]:
        return f"not among the {each['sample']['percent']:g} % that sample and ramp let through"
    return _text(each["event"])


def _text(value: Any) -> str:
    return lossless_json.encode(value).decode()
