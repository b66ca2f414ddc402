"""The documents of the side that a command talks to."""

import getpass
import os
from pathlib import Path

from scripts.documents.side_documents import SideDocuments
from scripts.documents.store import DocumentStore, TableAddress
from scripts.local.connection import NotRunningError, side_bootstrap
from scripts.local.side import Side
from shared.contracts.document_items import DOCUMENTS_TABLE
from shared.runtime.clock import wall_clock
from shared.runtime.settings import LOCAL, DocumentsSettings


def side_documents(data: Path) -> SideDocuments:
    """Documents of the side whose brokers the environment names, else of the local side in a folder.

    Raises:
        NoSideError: if there is no side.
        NotRunningError: if none of its brokers accepts a connection, or the settings are invalid.
    """
    bootstrap = side_bootstrap(data)
    if not os.environ.get("HIFI_BOOTSTRAP"):
        return documents_of(Side.load(data))
    try:
        found = DocumentsSettings()  # type: ignore[call-arg]  # from the environment
    except ValueError as error:
        raise NotRunningError(f"settings HIFI_* in the environment are invalid: {error}") from error
    address = TableAddress(side=found.side, table=found.documents_table, endpoint=found.documents_endpoint)
    return SideDocuments(DocumentStore(address, by=_user(), clock=wall_clock), bootstrap)


def documents_of(side: Side) -> SideDocuments:
    """Documents of a local side."""
    address = TableAddress(side=LOCAL, table=DOCUMENTS_TABLE, endpoint=side.store_url)
    return SideDocuments(DocumentStore(address, by=_user(), clock=wall_clock), side.bootstrap)


def _user() -> str:
    """Who writes, for the history."""
    try:
        return f"cli:{getpass.getuser()}"
    except (KeyError, OSError):  # a container's user without a name
        return f"cli:{os.getuid()}"
