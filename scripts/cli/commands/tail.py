"""`hifi tail`."""

from datetime import UTC, datetime
from typing import Annotated, Any

import msgspec
import typer
from msgspec import Raw, Struct
from rich.text import Text

from scripts.cli.commands.options import Server, SideFolder, Tenant
from scripts.cli.document_names import live_document
from scripts.documents.live_tail import followed
from scripts.documents.side_documents import SideDocuments
from scripts.local.client.documents import api_at
from scripts.terminal import err, out, printable
from shared.contracts.document_items import DocumentKey
from shared.contracts.live_tail import LeftOut, Message, TailEvent, TailMessage


class _Data(Struct):
    data: Raw = Raw(b"")


def tail(  # noqa: PLR0913, PLR0917 - one parameter an option
    pipe: Annotated[str, typer.Argument(metavar="PIPE", help="The pipe's name.")],
    limit: Annotated[int | None, typer.Option(min=1, help="End after so many events.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, an event a line.")] = False,
    tenant: Tenant = None,
    server: Server = None,
    data: SideFolder = None,
) -> None:
    """Show the events that go through a pipe from now on, as they leave: after masks and transform.

    At most ten a second are shown, the others counted. Ctrl-C ends it.
    """
    api = api_at(server, data)
    whose = live_document(SideDocuments(api), DocumentKey("pipe", pipe), tenant).tenant
    shown = 0
    try:
        for message in followed(api, whose, pipe):
            _show(message, as_json=as_json)
            shown += message.name == TailMessage.EVENT
            if shown == limit:
                return
    except KeyboardInterrupt:
        return


def _show(message: Message, *, as_json: bool) -> None:
    match message.name:
        case TailMessage.START:
            err().print("[dim]from now on; Ctrl-C ends it[/]")
        case TailMessage.LEFT_OUT:
            left = msgspec.json.decode(message.data, type=LeftOut)
            least = "at least " if left.uncounted else ""
            err().print(f"[dim]{least}{left.events:,} events were left out so far[/]")
        case TailMessage.EVENT if as_json:
            typer.echo(message.data.replace(b"\n", b" "))
        case TailMessage.EVENT:
            out().print(_line(msgspec.json.decode(message.data, type=TailEvent)), soft_wrap=True)


def _line(event: TailEvent) -> Text:
    at = datetime.fromtimestamp(event.at_ms / 1000, UTC).strftime("%H:%M:%S.%f")[:-3]
    head = "  ".join(printable(each or "-") for each in (at, event.id, event.type))
    if event.shown is None:
        return Text.assemble(head, "  ", (printable(_why(event)), "yellow"))
    return Text(f"{head}  {printable(_data(event.shown))}")


def _why(event: TailEvent) -> str:
    return "not shown" if event.problem is None else event.problem.detail


def _data(event: bytes) -> str:
    """The event's data on one line, as it was written; the whole event if it has no such data."""
    found: Any = msgspec.json.decode(event, type=_Data)
    return b" ".join((bytes(found.data) or event).splitlines()).decode()
