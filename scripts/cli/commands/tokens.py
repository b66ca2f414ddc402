"""`hifi tokens` and its subcommands."""

import json
from datetime import UTC, datetime
from typing import Annotated, Any

import typer
from rich.text import Text

from scripts.cli.commands.options import Server, SideFolder
from scripts.documents.tokens import Tokens
from scripts.local.client.documents import api_at
from scripts.terminal import err, out, plain_table, printable
from shared.contracts.api_answers.access import Role

GROUP = typer.Typer(no_args_is_help=True)


Whose = Annotated[
    str | None,
    typer.Option("--tenant", help="Whose tokens; unless given the own tenant's, an operator's otherwise."),
]


@GROUP.callback()
def tokens() -> None:
    """Make, list and revoke tokens of the management API: viewer, editor, owner, operator."""


@GROUP.command("list")
def list_tokens(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    tenant: Whose = None,
    server: Server = None,
    data: SideFolder = None,
) -> None:
    """List tokens: whose each is, what it may do, and until when."""
    found = Tokens(api_at(server, data)).of(tenant)
    if as_json:
        typer.echo(json.dumps(found, indent=2, ensure_ascii=False))
        return
    table = plain_table("ID", "ROLE", "LAST FOUR", "MADE", "EXPIRES", "LABEL", "MADE BY")
    for each in found:
        times = (_day(each["made_ms"]), _day(each["expires_ms"]) or "never")
        named = (Text(printable(each["label"])), Text(printable(each["made_by"])))
        table.add_row(each["id"], each["role"], each["last_four"], *times, *named)
    out().print(table)


@GROUP.command("add")
def add_token(  # noqa: PLR0913, PLR0917 - one parameter an option
    role: Annotated[Role, typer.Option(help="What it may do.")],
    label: Annotated[str, typer.Option(help="Who it is for, as the history will name them.")],
    days: Annotated[float | None, typer.Option(help="Days until it expires; never unless given.")] = None,
    tenant: Whose = None,
    server: Server = None,
    data: SideFolder = None,
) -> None:
    """Make a token, and print it: it is not stored, and never shown again."""
    made: Any = Tokens(api_at(server, data)).make(tenant, role, label, days)
    err().print(f"[dim]token {made['id']}, {made['role']} of {made['tenant'] or 'all tenants'}[/]")
    typer.echo(made["token"])


@GROUP.command("revoke")
def revoke_token(
    token: Annotated[str, typer.Argument(metavar="ID", help="Its id, as `hifi tokens list` shows it.")],
    tenant: Whose = None,
    server: Server = None,
    data: SideFolder = None,
) -> None:
    """Revoke a token; requests with it are refused from then on."""
    Tokens(api_at(server, data)).revoke(tenant, token)
    out().print(f"token {token} [green]revoked[/]")


def _day(at_ms: int | None) -> str:
    return "" if at_ms is None else datetime.fromtimestamp(at_ms / 1000, UTC).date().isoformat()
