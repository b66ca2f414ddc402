"""`hifi login`."""

import sys
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

import typer

from scripts.documents.api_client import ApiClient, DocumentsError, Server
from scripts.documents.contexts import Context, contexts_file, read_contexts, write_contexts
from scripts.terminal import out


def login(
    url: Annotated[
        str, typer.Argument(help="URL of the management API, for example https://api.example.com.")
    ],
    context: Annotated[str | None, typer.Option(help="Name for it; the host unless given.")] = None,
    tenant: Annotated[str | None, typer.Option(help="Whose documents are meant if none is named.")] = None,
    token_file: Annotated[
        Path | None,
        typer.Option(help="File with the token; unless given it is asked for, or read from a pipe."),
    ] = None,
) -> None:
    """Sign in to a management API; commands about documents then talk to it.

    The token is checked, and kept in a file that only you can read. `hifi context use local` goes back to the
    side in the folder.
    """
    token = _token(token_file)
    with ApiClient(Server(url=url, token=token)) as api:
        who = api.get("/v1/whoami")
    name = context or urlsplit(url).hostname or url
    found = Context(server=url, token=token, tenant=tenant)
    write_contexts(contexts_file(), read_contexts(contexts_file()).adding(name, found))
    whose = f"of tenant {who['tenant']}" if who["tenant"] else "of all tenants"
    out().print(f"signed in as {who['role']} {whose}; context [bold]{name}[/] is the current one")


def _token(file: Path | None) -> str:
    try:
        given = file.read_text() if file is not None else None
    except OSError as error:
        raise DocumentsError(f"{file} cannot be read: {error.strerror}") from error
    if given is None:
        given = typer.prompt("Token", hide_input=True) if sys.stdin.isatty() else sys.stdin.read()
    if not given.strip():
        raise DocumentsError("the token is empty", "give the text that the API showed when it was made")
    return str(given).strip()
