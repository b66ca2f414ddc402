"""The documents that a command is about: of a server, of the user's current context, or of a local side."""

import os
from pathlib import Path

from scripts.documents.api_client import ApiClient, DocumentsError, Server
from scripts.documents.contexts import (
    LOCAL_CONTEXT,
    Context,
    Contexts,
    change_contexts,
    contexts_file,
    read_contexts,
)
from scripts.documents.side_documents import SideDocuments
from scripts.local.client.connection import NotRunningError
from scripts.local.ports import is_busy
from scripts.local.side import DATA_FOLDER, Side
from shared.runtime.clock import wall_clock


def documents_at(server: str | None, data: Path | None) -> SideDocuments:
    """Documents of a server, else of the side in a folder, else of the current context.

    Args:
        server: URL of a management API, or name of a context; `local` is the side in the folder.
        data: folder of a local side.

    Raises:
        OperatorError: if there is none.
    """
    return SideDocuments(api_at(server, data))


def api_at(server: str | None, data: Path | None) -> ApiClient:
    """The management API of `documents_at`."""
    return ApiClient(_server(server, data))


def documents_of(side: Side) -> SideDocuments:
    """Documents of a local side."""
    return SideDocuments(ApiClient(local_server(side)))


def documents_open(side: Side) -> bool:
    """Whether documents of a local side can be written."""
    try:
        return documents_of(side).opened()
    except NotRunningError:
        return False


def local_server(side: Side) -> Server:
    """The management API of a local side, with the token of its operator.

    Raises:
        NotRunningError: if it does not run, or has not made its token yet.
    """
    if not is_busy(side.api_port):
        raise NotRunningError(
            f"the side is not running: no management API answers at {side.api_url}; start it with `hifi up`"
        )
    try:
        token = side.token_file.read_text().strip()
    except OSError as error:
        raise NotRunningError(
            f"{side.token_file} cannot be read: {error.strerror}; the side makes it at its first start"
        ) from error
    return Server(url=side.api_url, token=token, fix="`hifi doctor` shows whether it runs")


def _server(server: str | None, data: Path | None) -> Server:
    if server is not None and "://" in server:
        return Server(url=server, token=_token(server))
    contexts = read_contexts(contexts_file())
    name = server or (LOCAL_CONTEXT if data is not None else contexts.current)
    if name == LOCAL_CONTEXT:
        return local_server(Side.load(data or DATA_FOLDER))
    context = contexts.named(name)
    current = _renewed(name, context) if context.sign_in else context
    return Server(url=current.server, token=current.token, tenant=current.tenant)


def _renewed(name: str, context: Context) -> Context:
    """The context with a token that is valid for a while.

    An issuer may take a refresh token once, so of commands at the same time one renews, and the others find
    what it has written; a context that was removed meanwhile stays so.
    """
    # cryptography, which only an issuer's tokens need
    from scripts.documents.renewal import fresh, is_due  # noqa: PLC0415

    def renewing(found: Contexts) -> Contexts:
        return found.replacing(name, fresh(found.named(name), wall_clock()))

    if not is_due(context, wall_clock()):
        return context
    return change_contexts(contexts_file(), renewing).named(name)


def _token(server: str) -> str:
    """The token for a server that is not a context: HIFI_TOKEN, or what is in HIFI_TOKEN_FILE."""
    token, file = os.environ.get("HIFI_TOKEN"), os.environ.get("HIFI_TOKEN_FILE")
    if token is None and file is not None:
        try:
            token = Path(file).read_text()
        except OSError as error:
            raise DocumentsError(f"HIFI_TOKEN_FILE {file} cannot be read: {error.strerror}") from error
    if not token or not token.strip():
        raise DocumentsError(
            f"there is no token for {server}", "set HIFI_TOKEN or HIFI_TOKEN_FILE, or `hifi login` first"
        )
    return token.strip()
