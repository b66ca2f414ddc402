"""`hifi invite`."""

from typing import Annotated

import typer

from scripts.cli.commands.options import Server, SideFolder, TenantRole
from scripts.documents.members import Members
from scripts.local.client.documents import api_at
from scripts.terminal import err


def invite(  # noqa: PLR0913, PLR0917 - one parameter an option
    role: TenantRole,
    label: Annotated[str, typer.Option(help="Who it is for, as the list of invitations will name them.")],
    days: Annotated[float | None, typer.Option(help="Days until it expires; 7 unless given.")] = None,
    console: Annotated[
        str | None, typer.Option(help="URL of the console: prints a link to its page of invitations.")
    ] = None,
    tenant: Annotated[str | None, typer.Option(help="Into which tenant; the own one unless given.")] = None,
    server: Server = None,
    data: SideFolder = None,
) -> None:
    """Invite a person into a tenant, and print the invitation: it is not stored, and never shown again.

    Whoever redeems it first joins: in the console, after signing in; where no issuer signs people in, also by
    `hifi login URL` with the invitation in place of a token.
    """
    found = Members(api_at(server, data), tenant)
    made = found.invite(role, label, days)
    err().print(f"[dim]invitation {made['id']}: {made['role']} of {found.tenant}[/]")
    text = made["invitation"]
    typer.echo(text if console is None else f"{console.rstrip('/')}/invitation#{text}")
