"""Addresses of the running side that a command talks to, and its documents."""

import getpass
import os
import socket
from pathlib import Path

from scripts.documents.side_documents import SideDocuments
from scripts.documents.store import DocumentStore, TableAddress
from scripts.local.side import REACH, Side
from shared.contracts.bootstrap import IAM
from shared.contracts.document_items import DOCUMENTS_TABLE
from shared.contracts.egress_policy import EgressPolicy
from shared.runtime.clock import wall_clock
from shared.runtime.errors import OperatorError
from shared.runtime.settings import LOCAL, DocumentsSettings, SideSettings


class NotRunningError(OperatorError):
    """No side is running; the text says how to start one."""


def side_bootstrap(data: Path) -> str:
    """Bootstrap servers: HIFI_BOOTSTRAP, or those of the local side in a folder.

    Raises:
        NoSideError: if there is no side.
        NotRunningError: if none of its brokers accepts a connection.
    """
    bootstrap = os.environ.get("HIFI_BOOTSTRAP") or Side.load(data).bootstrap
    if not any(_answers(address) for address in bootstrap.removeprefix(IAM).split(",")):
        raise NotRunningError(
            f"the side is not running: no broker answers at {bootstrap}; start it with `hifi up`"
        )
    return bootstrap


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


def side_reach() -> EgressPolicy:
    """Addresses that the side may dial: from the environment if it names the brokers, else a local side's.

    Raises:
        NotRunningError: if the settings in the environment are invalid.
    """
    if not os.environ.get("HIFI_BOOTSTRAP"):
        return REACH
    try:
        return SideSettings().egress  # type: ignore[call-arg]  # from the environment
    except ValueError as error:
        raise NotRunningError(f"settings HIFI_* in the environment are invalid: {error}") from error


def collect_url(data: Path) -> str:
    """URL of the local side's collect.

    Raises:
        NoSideError: if there is no side.
    """
    return Side.load(data).collect_url


def _answers(address: str) -> bool:
    host, _, port = address.rpartition(":")
    try:
        with socket.create_connection((host, int(port)), timeout=2.0):
            return True
    except (OSError, ValueError):
        return False
