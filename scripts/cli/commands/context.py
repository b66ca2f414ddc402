"""`hifi context` and its subcommands."""

from typing import Annotated

import typer

from scripts.documents.contexts import LOCAL_CONTEXT, change_contexts, contexts_file, read_contexts
from scripts.terminal import out, plain_table

GROUP = typer.Typer(no_args_is_help=True)

Name = Annotated[str, typer.Argument(help="Name of a context.")]


@GROUP.callback()
def context() -> None:
    """List, choose and remove the servers of `hifi login`; `local` is the side in the folder."""


@GROUP.command("list")
def list_contexts() -> None:
    """List the contexts; the current one is marked."""
    found = read_contexts(contexts_file())
    table = plain_table("", "NAME", "SERVER", "TENANT")
    table.add_row("*" if found.current == LOCAL_CONTEXT else "", LOCAL_CONTEXT, "the side in the folder", "")
    for name, each in sorted(found.contexts.items()):
        table.add_row("*" if name == found.current else "", name, each.server, each.tenant or "")
    out().print(table)


@GROUP.command("use")
def use(name: Name) -> None:
    """Make a context the current one."""
    change_contexts(contexts_file(), lambda found: found.using(name))
    out().print(f"context [bold]{name}[/] is the current one")


@GROUP.command("remove")
def remove(name: Name) -> None:
    """Forget a context and its token; the token itself stays valid until it is revoked."""
    change_contexts(contexts_file(), lambda found: found.without(name))
    out().print(f"context {name} [green]removed[/]")
