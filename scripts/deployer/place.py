"""Which table and which side a command is about, and what that side's observe says of it."""

import os
from pathlib import Path

from msgspec import Struct

from scripts.local.side import Side
from scripts.scorecard.observe_client import observe_url, query_observe
from shared.contracts.diamond.stability import SILENT, Stability
from shared.contracts.document_items import DOCUMENTS_TABLE
from shared.runtime.errors import OperatorError


class Place(Struct, frozen=True, kw_only=True):
    """A table of documents, and a side."""

    table: str
    endpoint: str | None
    """URL of DynamoDB Local; None is AWS."""

    side: str | None
    """None if the environment names a table and no side."""


def place_of(data: Path) -> Place:
    """What the environment names, or the local side in a folder.

    Raises:
        OperatorError: if there is neither.
    """
    table = os.environ.get("HIFI_DOCUMENTS_TABLE")
    if table:
        endpoint = os.environ.get("HIFI_DOCUMENTS_ENDPOINT")
        return Place(table=table, endpoint=endpoint, side=os.environ.get("HIFI_SIDE"))
    side = Side.load(data)
    return Place(table=DOCUMENTS_TABLE, endpoint=side.store_url, side=side.name)


def stability_of(data: Path) -> Stability:
    """Whether the side is stable; SILENT if its observe does not answer."""
    try:
        return query_observe(observe_url(data), "/v1/stability", Stability)
    except OperatorError:
        return SILENT
