"""The answers of the routes. Pure."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from http import HTTPStatus
from typing import TypeVar

import msgspec
from fastapi import Response
from msgspec.structs import asdict

from pipelines.management.api import requests
from pipelines.management.api.requests import Place
from shared.contracts.api_answers.documents import (
    Changes,
    DocumentChange,
    NamedVersion,
    NewestSummary,
    NewestVersion,
    Version,
    VersionSummary,
    WrittenVersion,
)
from shared.contracts.api_answers.pages import Page
from shared.contracts.document_items import DocumentKey, EncodedVersion, StoredDocument
from shared.contracts.document_items import VersionSummary as StoredSummary
from shared.contracts.document_status import DocumentStatus
from shared.contracts.rollouts import RolloutView

T = TypeVar("T")
Stored = StoredDocument | EncodedVersion
_encoder = msgspec.json.Encoder()


def json_response(
    found: object, status: int = HTTPStatus.OK, headers: Mapping[str, str] | None = None
) -> Response:
    """An answer in JSON."""
    return Response(_encoder.encode(found), status, dict(headers or {}), "application/json")


def listed(items: Sequence[object], following: object | None) -> Response:
    """A page of a list."""
    after = requests.cursor_of(None if following is None else str(following))
    return json_response(Page(items=list(items), next=after))


def page_of(
    items: Iterable[T], place: Callable[[T], Place], limit: str | None, cursor: str | None
) -> tuple[Sequence[T], str | None]:
    """A page of a list that is held whole, and the place after which the next one begins.

    The next one has what comes after that place, whether or not what was there has been removed since.

    Args:
        items: in any order; of several with one place only one is listed.
        place: of an item, by which the list is ordered: a time in epoch milliseconds, and the id.
        limit: how many are wanted; the longest page without one.
        cursor: `next` of the page before.

    Raises:
        ProblemError: 400 if the limit is not from 1 to MOST_LISTED, or the cursor is none of ours.
    """
    most = requests.MOST_LISTED if limit is None else requests.limit(limit)
    after = requests.after_place(cursor)
    found = {place(each): each for each in items}
    left = sorted(each for each in found if after is None or each > after)
    following = requests.place_text(left[most - 1]) if len(left) > most else None
    return [found[each] for each in left[:most]], following


def version(found: Stored) -> Version:
    """One version of a document."""
    return Version(version=found.version, by=found.by, at_ms=found.at_ms, document=found.document)


def written(found: StoredDocument, write_key: str | None) -> WrittenVersion:
    """The version after a write, with a key that was made for it."""
    return WrittenVersion(**asdict(version(found)), write_key=write_key)


def summary(found: StoredSummary) -> VersionSummary:
    """One version without its document."""
    return VersionSummary(
        kind=found.key.kind,
        name=found.key.name,
        version=found.version,
        by=found.by,
        at_ms=found.at_ms,
        deleted=found.deleted,
    )


def brief(found: StoredSummary, statuses: Mapping[str, DocumentStatus]) -> NewestSummary:
    """The newest version without its document, and how far each side is with it."""
    return NewestSummary(**asdict(summary(found)), status=statuses)


def named(found: Stored, statuses: Mapping[str, DocumentStatus]) -> NamedVersion:
    """A document with its kind and name, which a deletion says nowhere else, and its status."""
    return NamedVersion(kind=found.key.kind, name=found.key.name, **asdict(newest(found, statuses)))


def newest(
    found: Stored, statuses: Mapping[str, DocumentStatus], rollout: RolloutView | None = None
) -> NewestVersion:
    """The newest version of a document, and how far each side is with it."""
    return NewestVersion(**asdict(version(found)), status=statuses, rollout=rollout)


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
) -> Changes:
    """The effect of a write, or of a dry run, on each document."""
    added = {each.key: each for each in versions}
    found = [_change(key, added.get(key), before.get(key, 0), keys.get(key)) for key in asked]
    return Changes(dry_run=dry_run, changes=found)


def _change(
    key: DocumentKey, added: StoredDocument | None, before: int, write_key: str | None
) -> DocumentChange:
    return DocumentChange(
        kind=key.kind,
        name=key.name,
        action=_action(added, before),
        former=before or None,
        to=added.version if added else before or None,
        write_key=write_key,
    )


def _action(added: StoredDocument | None, before: int) -> str:
    if added is None:
        return "none"
    if added.document is None:
        return "delete"
    return "change" if before else "create"
