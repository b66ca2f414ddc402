"""Routes of documents, their history and bundles."""

from collections import Counter
from collections.abc import Sequence
from contextlib import nullcontext
from http import HTTPStatus
from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Depends, Header, Path, Request, Response
from msgspec import Struct

from pipelines.management.api import intent, requests, views
from pipelines.management.api.declared import Text, route
from pipelines.management.api.documents import Documents
from pipelines.management.api.intent import wrong_request
from pipelines.management.api.problems import not_found
from pipelines.management.api.rights.access import Access
from pipelines.management.api.rights.callers import Caller
from pipelines.management.api.rights.permissions import Action
from pipelines.management.api.rights.read_limits import ReadLimits
from pipelines.management.api.rights.write_limits import WriteLimits
from pipelines.management.api.rollouts import Rollouts
from shared.contracts.api_answers.documents import (
    Changes,
    Json,
    NewestSummary,
    NewestVersion,
    Version,
    VersionSummary,
    WrittenVersion,
)
from shared.contracts.api_answers.pages import Page
from shared.contracts.document_items import MOST_CHANGES, Change, DocumentKey, StoredDocument, live_version

Head = Annotated[str | None, Header()]
Kind = Annotated[str, Path(json_schema_extra={"enum": list(intent.PLURALS)})]
_ROOT = "/v1/tenants/{tenant}"
_ONE = _ROOT + "/{kind}/{name}"


class Bundle(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body of `apply`."""

    documents: list[Any] = []
    delete: list[DocumentKey] = []
    expected: dict[str, int] = {}


class RevertRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """The version whose document is to be there again."""

    version: int


def key_of(kind: str, name: str) -> DocumentKey:
    """The document that a path names; a ProblemError says that there is none of such a name."""
    if not requests.is_name(name):
        raise not_found()
    return DocumentKey(intent.PLURALS[kind], name)


def decoded(kind: type[Any], body: bytes) -> Any:
    """A request's body; a ProblemError with status 422 says what of it is wrong."""
    value = requests.plain(body)
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        raise intent.wrong_body(error) from None


def document_routes(  # noqa: PLR0913, PLR0917  # what the routes need
    documents: Documents,
    rollouts: Rollouts,
    access: Access,
    reads: ReadLimits,
    writes: WriteLimits,
    body_bytes: int,
) -> APIRouter:
    """The routes."""
    router = APIRouter()
    _add_reading(router, documents, rollouts, access, reads)
    _add_put(router, documents, access, writes, body_bytes)
    _add_delete(router, documents, access, writes)
    _add_apply(router, documents, access, writes, body_bytes)
    _add_revert(router, documents, access, writes, body_bytes)
    return router


def _add_reading(
    router: APIRouter, documents: Documents, rollouts: Rollouts, access: Access, reads: ReadLimits
) -> None:
    reading = [Depends(access.guard(Action.READ)), Depends(reads.permit, scope="function")]

    @router.get(
        _ROOT + "/{kind}",
        dependencies=reading,
        **route(200, answers=[Page[NewestVersion], Page[NewestSummary]]),
    )
    def listing(
        tenant: str, kind: Kind, limit: Text = None, cursor: Text = None, brief: Text = None
    ) -> Response:
        most, after = requests.limit(limit), requests.after(cursor)
        if requests.flag("brief", brief):
            heads, following = documents.table.summaries(tenant, intent.PLURALS[kind], after, most)
            statuses = documents.statuses(tenant, heads)
            return views.listed(list(map(views.brief, heads, statuses)), following)
        found, following = documents.table.page(tenant, intent.PLURALS[kind], after, most)
        statuses = documents.statuses(tenant, found)
        items = [views.newest(each, status) for each, status in zip(found, statuses, strict=True)]
        return views.listed(items, following)

    @router.get(_ONE, dependencies=reading, **route(200, answers=[NewestVersion]))
    def document(tenant: str, kind: Kind, name: str) -> Response:
        found = documents.live(tenant, key_of(kind, name))
        (status,) = documents.statuses(tenant, [found])
        shown = views.newest(found, status, rollouts.shown(found))
        return views.json_response(shown, headers=views.etag(found))

    @router.get(
        _ONE + "/history",
        dependencies=reading,
        **route(200, answers=[Page[Version], Page[VersionSummary]]),
    )
    def history(  # noqa: PLR0913  # the parts of the request
        *,
        tenant: str,
        kind: Kind,
        name: str,
        limit: Text = None,
        cursor: Text = None,
        brief: Text = None,
    ) -> Response:
        key, before, most = key_of(kind, name), requests.version_before(cursor), requests.limit(limit)
        if requests.flag("brief", brief):
            heads, following = documents.table.history_summaries(tenant, key, before, most)
            items: list[VersionSummary] | list[Version] = list(map(views.summary, heads))
        else:
            found, following = documents.table.history_page(tenant, key, before, most)
            items = list(map(views.version, found))
        if not items and before is None:
            raise not_found()
        return views.listed(items, following)

    @router.get(_ONE + "/history/{version}", dependencies=reading, **route(200, answers=[Version]))
    def former(tenant: str, kind: Kind, name: str, version: str) -> Response:
        found = documents.at_version(tenant, key_of(kind, name), requests.version(version))
        return views.json_response(views.version(found))


def _add_put(router: APIRouter, documents: Documents, access: Access, writes: WriteLimits, most: int) -> None:
    @router.put(_ONE, **route(200, 201, 409, 412, 428, body=Json, answers=[WrittenVersion, Changes]))
    def put(  # noqa: PLR0913  # the parts of the request
        *,
        tenant: str,
        kind: Kind,
        name: str,
        token: Annotated[Caller, Depends(access.guard(Action.WRITE))],
        body: Annotated[bytes, Depends(writes.body(most), scope="function")],
        request: Request,
        if_match: Head = None,
        if_none_match: Head = None,
        dry_run: Text = None,
    ) -> Response:
        key, dry = key_of(kind, name), _dry(request, dry_run)
        asked = requests.condition(if_match, if_none_match)
        raw = intent.within(tenant, requests.plain(body), key)
        before = {key: live_version(documents.table.get(tenant, key))}
        expected = {} if asked.expected is None else {str(key): asked.expected}
        done = documents.put(tenant, [raw], [], expected, by=token.signature, dry_run=dry)
        if dry:
            return views.json_response(views.changes([key], done.versions, before, {}, dry_run=True))
        found = done.versions[0] if done.versions else documents.live(tenant, key)
        status = HTTPStatus.CREATED if done.versions and not before[key] else HTTPStatus.OK
        return views.json_response(views.written(found, done.keys.get(key)), status, views.etag(found))


def _add_delete(router: APIRouter, documents: Documents, access: Access, writes: WriteLimits) -> None:
    guard = Depends(access.guard(Action.WRITE))
    permit = Depends(writes.permit, scope="function")

    @router.delete(_ONE, dependencies=[guard, permit], **route(204, 200, 409, 412, 428, answers=[Changes]))
    def delete(  # noqa: PLR0913  # the parts of the request
        *,
        tenant: str,
        kind: Kind,
        name: str,
        token: Annotated[Caller, guard],
        request: Request,
        if_match: Head = None,
        dry_run: Text = None,
    ) -> Response:
        key, dry = key_of(kind, name), _dry(request, dry_run)
        asked = requests.condition(if_match, None)
        found = documents.live(tenant, key)
        change = Change(key=key, document=None, expected=asked.expected)
        versions = documents.write(tenant, [change], by=token.signature, dry_run=dry)
        if dry:
            before = {key: live_version(found)}
            return views.json_response(views.changes([key], versions, before, {}, dry_run=True))
        return Response(status_code=HTTPStatus.NO_CONTENT)


def _add_apply(
    router: APIRouter, documents: Documents, access: Access, writes: WriteLimits, most: int
) -> None:
    @router.post(_ROOT + "/apply", **route(200, 409, 412, body=Bundle, answers=[Changes]))
    def apply(
        tenant: str,
        token: Annotated[Caller, Depends(access.guard(Action.WRITE))],
        body: Annotated[bytes, Depends(writes.body(most), scope="function")],
        request: Request,
        dry_run: Text = None,
    ) -> Response:
        dry = _dry(request, dry_run)
        bundle: Bundle = decoded(Bundle, body)
        _refuse_other_than_documents(bundle)
        raws = [intent.within(tenant, raw) for raw in bundle.documents]
        gone = [
            Change(key=key, document=None, expected=bundle.expected.get(str(key))) for key in bundle.delete
        ]
        asked = [*(intent.named(raw) for raw in raws), *bundle.delete]
        _refuse_unnamed(bundle, asked)
        many = dry and len(asked) > MOST_CHANGES
        with writes.check(tenant) if many else nullcontext():
            before = documents.versions_of(tenant, asked, dry_run=dry)
            done = documents.put(tenant, raws, gone, bundle.expected, by=token.signature, dry_run=dry)
        return views.json_response(views.changes(asked, done.versions, before, done.keys, dry_run=dry))


def _add_revert(
    router: APIRouter, documents: Documents, access: Access, writes: WriteLimits, most: int
) -> None:
    @router.post(
        _ONE + "/revert", **route(200, 409, 412, 428, body=RevertRequest, answers=[Version, Changes])
    )
    def revert(  # noqa: PLR0913  # the parts of the request
        *,
        tenant: str,
        kind: Kind,
        name: str,
        token: Annotated[Caller, Depends(access.guard(Action.WRITE))],
        body: Annotated[bytes, Depends(writes.body(most), scope="function")],
        request: Request,
        if_match: Head = None,
        if_none_match: Head = None,
        dry_run: Text = None,
    ) -> Response:
        key, dry = key_of(kind, name), _dry(request, dry_run)
        asked = requests.condition(if_match, if_none_match)
        wanted = _version(decoded(RevertRequest, body).version)
        former = documents.table.get(tenant, key)
        if former is None:
            raise not_found()
        versions = documents.revert(tenant, key, wanted, asked.expected, by=token.signature, dry_run=dry)
        if dry:
            before = {key: live_version(former)}
            return views.json_response(views.changes([key], versions, before, {}, dry_run=True))
        return _shown(versions[0] if versions else former)


def _shown(stored: StoredDocument) -> Response:
    return views.json_response(views.version(stored), headers=views.etag(stored))


def _version(given: int) -> int:
    if not 1 <= given < 10**9:
        raise wrong_request("/version", "is no version", "give one of the history")
    return given


def _dry(request: Request, text: str | None) -> bool:
    request.state.dry_run = dry = requests.flag("dry_run", text)
    return dry


def _refuse_unnamed(bundle: Bundle, asked: Sequence[DocumentKey]) -> None:
    for at, key in enumerate(bundle.delete):
        if key.kind not in intent.PLURALS.values() or not requests.is_name(key.name):
            said = f"{str(key)[:80]!r} is no document"
            raise wrong_request(f"/delete/{at}", said, "give the kind and name of one")
    left = bundle.expected.keys() - {str(key) for key in asked}
    if left:
        said = f"{sorted(left)[0][:80]!r} is not in this bundle"
        raise wrong_request("/expected", said, "leave it out, or add the document")
    twice = [key for key, count in Counter(asked).items() if count > 1]
    if twice:
        raise wrong_request("/documents", f"{twice[0]} is given twice", "leave one of them out")


def _refuse_other_than_documents(bundle: Bundle) -> None:
    for at, raw in enumerate(bundle.documents):
        if not isinstance(raw, dict):
            raise wrong_request(f"/documents/{at}", "is no document", "write a mapping with its `kind`")
