"""`hifi members` and its subcommands."""

import json
from datetime import UTC, datetime
from typing import Annotated

import typer
from rich.markup import escape
from rich.text import Text

from scripts.cli.commands.options import Server, SideFolder, TenantRole
from scripts.documents.members import Members
from scripts.local.documents import api_at
from scripts.terminal import out, plain_table, printable

GROUP = typer.Typer(no_args_is_help=True)

Whose = Annotated[str | None, typer.Option("--tenant", help="Whose members; the own tenant's unless given.")]
Who = Annotated[str, typer.Argument(metavar="MEMBER", help="Its id or label, as `hifi members list` shows.")]


@GROUP.callback()
def members() -> None:
    """List the members of a tenant and open invitations, change roles, remove members; see also invite."""


@GROUP.command("list")
def list_members(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    tenant: Whose = None,
    server: Server = None,
    data: SideFolder = None,
) -> None:
    """List members with their roles, and the invitations that are open."""
    found = Members(api_at(server, data), tenant)
    there, invited = found.all(), found.invitations()
    if as_json:
        typer.echo(json.dumps({"members": there, "invitations": invited}, indent=2, ensure_ascii=False))
        return
    table = plain_table("ID", "ROLE", "SINCE", "UNTIL", "LABEL")
    for each in there:
        label = Text(printable(each["label"]))
        table.add_row(each["id"], each["role"], _day(each["since_ms"]), "", label)
    for each in invited:
        label = Text(f"{printable(each['label'])} (invited)")
        table.add_row(each["id"], each["role"], "", _day(each["expires_ms"]), label)
    out().print(table)


@GROUP.command("role")
def set_role(
    member: Who, role: TenantRole, tenant: Whose = None, server: Server = None, data: SideFolder = None
) -> None:
    """Give a member another role; it holds from the next request on."""
    Members(api_at(server, data), tenant).set_role(member, role)
    out().print(f"{escape(printable(member))} is [green]{role}[/]")


@GROUP.command("remove")
def remove_member(member: Who, tenant: Whose = None, server: Server = None, data: SideFolder = None) -> None:
    """Remove a member; requests of it are refused from then on."""
    Members(api_at(server, data), tenant).remove(member)
    out().print(f"{escape(printable(member))} [green]removed[/]")


@GROUP.command("withdraw")
def withdraw_invitation(
    invitation: Annotated[str, typer.Argument(metavar="ID", help="Its id, as `hifi members list` shows.")],
    tenant: Whose = None,
    server: Server = None,
    data: SideFolder = None,
) -> None:
    """Withdraw an open invitation."""
    Members(api_at(server, data), tenant).withdraw(invitation)
    out().print(f"invitation {escape(printable(invitation))} [green]withdrawn[/]")


def _day(at_ms: int) -> str:
    return datetime.fromtimestamp(at_ms / 1000, UTC).date().isoformat()
