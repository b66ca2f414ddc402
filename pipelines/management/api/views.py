"""The answers of the routes. Pure."""

from collections.abc import Callable, Mapping, Sequence
from http import HTTPStatus
from typing import Any, TypeVar

import msgspec
from fastapi import Response

from pipelines.management.api import requests
from shared.contracts.document_items import DocumentKey, EncodedVersion, StoredDocument, VersionSummary
from shared.contracts.document_status import DocumentStatus

T = TypeVar("T")
Version = StoredDocument | EncodedVersion
_encoder = msgspec.json.Encoder()


def json_response(
    found: object, status: int = HTTPStatus.OK, headers: Mapping[str, str] | None = None
) -> Response:
    """An answer in JSON."""
    return Response(_encoder.encode(found), status, dict(headers or {}), "application/json")


def listed(items: Sequence[object], following: object | None) -> Response:
    """A page of a list."""
    return json_response(
        {"items": items, "next": requests.cursor_of(None if following is None else str(following))}
    )


def page_of(
    items: Sequence[T], name: Callable[[T], str], limit: str | None, cursor: str | None
) -> tuple[Sequence[T], str | None]:
    """A page of a list that is held whole, the longest without a limit, and the name after which the next
    one begins.

    Raises:
        ProblemError: 400 if the limit is not from 1 to MOST_LISTED, or the cursor names none of the items.
    """
    most = requests.MOST_LISTED if limit is None else requests.limit(limit)
    names = [name(each) for each in items]
    after = None if cursor is None else requests.cursor_text(cursor)
    if after is not None and after not in names:
        raise requests.wrong_cursor()
    start = 0 if after is None else names.index(after) + 1
    return items[start : start + most], names[start + most - 1] if len(items) > start + most else None


def version(found: Version) -> dict[str, Any]:
    """One version of a document."""
    return {"version": found.version, "by": found.by, "at_ms": found.at_ms, "document": found.document}


def summary(found: VersionSummary) -> dict[str, Any]:
    """One version without its document."""
    named = {"kind": found.key.kind, "name": found.key.name}
    said = {"version": found.version, "by": found.by, "at_ms": found.at_ms, "deleted": found.deleted}
    return named | said


def brief(found: VersionSummary, statuses: Mapping[str, DocumentStatus]) -> dict[str, Any]:
    """The newest version without its document, and how far each side is with it."""
    return summary(found) | {"status": msgspec.to_builtins(statuses)}


def named(found: Version, statuses: Mapping[str, DocumentStatus]) -> dict[str, Any]:
    """A document with its kind and name, which a deletion says nowhere else, and its status."""
    return {"kind": found.key.kind, "name": found.key.name} | newest(found, statuses)


def newest(found: Version, statuses: Mapping[str, DocumentStatus]) -> dict[str, Any]:
    """The newest version of a document, and how far each side is with it."""
    return version(found) | {"status": msgspec.to_builtins(statuses)}


def etag(stored: StoredDocument) -> dict[str, str]:
    """The header that names a version."""
    return {"ETag": f'"{stored.version}"'}


def changes(
    asked: Sequence[DocumentKey],
    versions: Sequence[StoredDocument],
    before: Mapping[DocumentKey, int],
    keys: Mapping[DocumentKey, str],
    *,
    dry_run: bool,
) -> dict[str, Any]:
    """The effect of a write, or of a dry run, on each document."""
    added = {each.key: each for each in versions}
    items = []
    for key in asked:
        to = added.get(key)
        item: dict[str, Any] = {"kind": key.kind, "name": key.name, "action": _action(to, before.get(key, 0))}
        item |= {"from": before.get(key) or None, "to": to.version if to else before.get(key) or None}
        items.append(item | ({"write_key": keys[key]} if key in keys else {}))
    return {"dry_run": dry_run, "changes": items}


def _action(added: StoredDocument | None, before: int) -> str:
    if added is None:
        return "none"
    if added.document is None:
        return "delete"
    return "change" if before else "create"
