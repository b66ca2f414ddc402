"""`hifi login`."""

import sys
import threading
import webbrowser
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

import typer
from rich.markup import escape

from scripts.documents.api_client import ApiClient, DocumentsError, Server
from scripts.documents.browser_sign_in import IssuerClient, sign_in
from scripts.documents.contexts import Context, SignIn, change_contexts, contexts_file, read_contexts
from scripts.documents.members import INVITATION_PREFIX, personal_token
from scripts.terminal import err, out, printable
from shared.contracts.api_answers.access import Role


def login(  # noqa: PLR0913, PLR0917 - one parameter an option
    url: Annotated[
        str, typer.Argument(help="URL of the management API, for example https://api.example.com.")
    ],
    context: Annotated[str | None, typer.Option(help="Name for it; the host unless given.")] = None,
    tenant: Annotated[str | None, typer.Option(help="Whose documents are meant if none is named.")] = None,
    token_file: Annotated[
        Path | None,
        typer.Option(help="File with the token; unless given it is asked for, or read from a pipe."),
    ] = None,
    issuer: Annotated[
        str | None,
        typer.Option(help="Sign in by this OpenID Connect issuer, with a browser."),
    ] = None,
    client_id: Annotated[
        str | None, typer.Option(help="With --issuer: the id of hifi there, one of the API's audiences.")
    ] = None,
    port: Annotated[
        int,
        typer.Option(help="With --issuer: where the browser comes back to on 127.0.0.1; 0 is any."),
    ] = 0,
) -> None:
    """Sign in to a management API; commands about documents then talk to it.

    By a token, by an invitation that is redeemed for one, or by an issuer. The token is checked, and kept in
    a file that only you can read. `hifi context use local` goes back to the side in the folder.
    """
    if issuer is not None:
        token, by = _by_browser(issuer, client_id, port)
    else:
        token, by = _token(token_file), None
    name = context or urlsplit(url).hostname or url
    read_contexts(contexts_file())  # a file that cannot be read is refused before the invitation is used up
    if token.startswith(INVITATION_PREFIX):
        token = personal_token(url, token)
        # Kept before it is used: the invitation is used up, and the token is known nowhere but here.
        _keep(name, Context(server=url, token=token, tenant=tenant))
    with ApiClient(Server(url=url, token=token)) as api:
        who = api.get("/v1/whoami")
    _keep(name, Context(server=url, token=token, tenant=tenant, sign_in=by))
    out().print(f"signed in as {_described(who)}; context [bold]{escape(name)}[/] is the current one")


def _keep(name: str, found: Context) -> None:
    change_contexts(contexts_file(), lambda known: known.adding(name, found))


def _described(who: Any) -> str:
    """Roles, each with its tenant."""
    if who["role"] == Role.OPERATOR:
        return "operator of all tenants"
    roles = ", ".join(f"{each['role']} of tenant {each['tenant']}" for each in who["tenants"])
    return roles or f"{escape(printable(who['label']))}, a member of no tenant yet"


def _by_browser(issuer: str, client_id: str | None, port: int) -> tuple[str, SignIn]:
    if client_id is None:
        raise DocumentsError("--issuer needs the id of hifi there", "add --client-id")

    def show(address: str) -> None:
        err().print(f"open this address to sign in, if no browser does:\n{escape(address)}", soft_wrap=True)
        # On a thread: a browser in the terminal is waited for, and comes back to us before it ends.
        threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()

    found = sign_in(IssuerClient(issuer=issuer, client_id=client_id), port, show)
    return found.token, SignIn(issuer=issuer, client_id=client_id, refresh_token=found.refresh_token)


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
