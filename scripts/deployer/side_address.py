"""Which table and which side a command is about, and what that side's observe says of it."""

import os
from pathlib import Path
from typing import Final

import httpx
from msgspec import Struct

from scripts.local.side import Side
from scripts.scorecard.observe_client import OBSERVE_URL, observe_url
from shared.contracts.diamond.stability import Stability
from shared.contracts.document_items import DOCUMENTS_TABLE
from shared.runtime.authorities import authorities
from shared.runtime.errors import OperatorError
from shared.runtime.side_stability import asked_stability

_TABLE: Final = "HIFI_DOCUMENTS_TABLE"
_FIX: Final = f"set {OBSERVE_URL} to its URL"
_SECONDS: Final = 60.0
"""Time limit of a question to observe, as of the other commands."""


class SideAddress(Struct, frozen=True, kw_only=True):
    """A table of documents, and a side."""

    table: str
    endpoint: str | None
    """URL of DynamoDB Local; None is AWS."""

    side: str | None
    """None if the environment names a table and no side."""

    local: bool
    """Whether it is that of a folder on this machine: then versions are commits of this repository."""


def side_address(data: Path) -> SideAddress:
    """The address that the environment names, or that of the local side in a folder.

    Raises:
        OperatorError: if there is neither.
    """
    table = os.environ.get(_TABLE)
    if table:
        endpoint = os.environ.get("HIFI_DOCUMENTS_ENDPOINT")
        return SideAddress(table=table, endpoint=endpoint, side=os.environ.get("HIFI_SIDE"), local=False)
    return local_address(Side.load(data))


def local_address(side: Side) -> SideAddress:
    """The address of a side on this machine, whatever the environment names."""
    return SideAddress(table=DOCUMENTS_TABLE, endpoint=side.store_url, side=side.name, local=True)


def side_observe_url(data: Path) -> str:
    """Base URL of the side's observe: HIFI_OBSERVE_URL, or that of the local side in a folder.

    Raises:
        OperatorError: if the environment names a table, and so a side other than the local one, but no
            observe; or if it names neither and there is no local side.
    """
    if os.environ.get(_TABLE) and not os.environ.get(OBSERVE_URL):
        raise OperatorError(f"{_TABLE} names a side, but {OBSERVE_URL} does not name its observe", _FIX)
    return observe_url(data)


def stability_of(data: Path) -> Stability:
    """Whether the side is stable; silent if its observe is not known or does not answer."""
    try:
        url = side_observe_url(data)
    except OperatorError as error:
        return Stability(stable=False, reasons=(str(error),), silent=True)
    with httpx.Client(base_url=url, verify=authorities(url)) as observe:
        return asked_stability(observe, seconds=_SECONDS)
