"""Addresses of the console's pages that other processes link to."""

from typing import Final
from urllib.parse import quote

DOCUMENTS: Final = "/documents"
"""The beginning of the paths of tenants' pages, all of which need a signed-in person."""


def document_path(tenant: str, kind: str, name: str) -> str:
    """The path of a document's page; `kind` in the singular."""
    return "/".join((DOCUMENTS, *(quote(step, safe="") for step in (tenant, kind + "s", name))))
