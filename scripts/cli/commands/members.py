"""`hifi members` and its subcommands."""

import json
from datetime import UTC, datetime
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.text import Text

from scripts.cli.commands.options import Server, SideFolder, TenantRole
from scripts.documents.members import Members
from scripts.local.client.documents import api_at
from scripts.terminal import err, out, plain_table, printable

GROUP = typer.Typer(no_args_is_help=True)

Whose = Annotated[str | None, typer.Option("--tenant", help="Whose members; the own tenant's unless given.")]
Revoke = Annotated[
    bool, typer.Option("--revoke", help="Also revoke tokens and withdraw invitations that the member made.")
]
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
    table = plain_table("ID", "ROLE", "SINCE", "UNTIL", "LABEL", "INVITED BY")
    for each in there:
        label = Text(printable(each["label"]))
        by = Text(printable(each["invited_by"]))
        table.add_row(each["id"], each["role"], _day(each["since_ms"]), "", label, by)
    for each in invited:
        label = Text(f"{printable(each['label'])} (invited)")
        by = Text(printable(each["made_by"]))
        table.add_row(each["id"], each["role"], "", _day(each["expires_ms"]), label, by)
    out().print(table)


@GROUP.command("role")
def set_role(  # noqa: PLR0913, PLR0917 - one parameter an option
    member: Who,
    role: TenantRole,
    revoke: Revoke = False,
    tenant: Whose = None,
    server: Server = None,
    data: SideFolder = None,
) -> None:
    """Give a member another role; it holds from the next request on."""
    made = Members(api_at(server, data), tenant).set_role(member, role, revoke=revoke)
    out().print(f"{escape(printable(member))} is [green]{role}[/]")
    _say_made(made)


@GROUP.command("remove")
def remove_member(
    member: Who,
    revoke: Revoke = False,
    tenant: Whose = None,
    server: Server = None,
    data: SideFolder = None,
) -> None:
    """Remove a member; requests of it are refused from then on.

    Tokens and invitations that it made live on unless --revoke is given.
    """
    made = Members(api_at(server, data), tenant).remove(member, revoke=revoke)
    out().print(f"{escape(printable(member))} [green]removed[/]")
    _say_made(made)


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


def _say_made(made: Any) -> None:
    """Print the tokens and invitations that the member made, and whether they go on working."""
    for each in made["tokens"]:
        _say_one(f"token {each['id']}, {each['role']}", each, made, f"hifi tokens revoke {each['id']}")
    for each in made["invitations"]:
        _say_one(
            f"invitation {each['id']}, {each['role']}", each, made, f"hifi members withdraw {each['id']}"
        )


def _say_one(what: str, each: Any, made: Any, end: str) -> None:
    state = "ended" if made["revoked"] else f"goes on working; to end it: {end}"
    err().print(Text(f"{what} ({printable(each['label'])}): {state}"), soft_wrap=True)


def _day(at_ms: int) -> str:
    return datetime.fromtimestamp(at_ms / 1000, UTC).date().isoformat()
