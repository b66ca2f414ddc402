"""The route that tries an event on pipes."""

import time
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache, partial
from typing import Annotated, Any, Final

import msgspec
from fastapi import APIRouter, Depends, Request, Response
from msgspec import Raw, Struct

from pipelines.management.api import intent, requests, views
from pipelines.management.api.declared import Text, route
from pipelines.management.api.documents import Documents
from pipelines.management.api.intent import wrong_request
from pipelines.management.api.preview import PreviewEvent, preview, preview_event
from pipelines.management.api.problems import busy, tenant_busy
from pipelines.management.api.rights.access import Access, body_reader
from pipelines.management.api.rights.permissions import Action
from pipelines.management.api.rollouts import Rollouts
from shared.cloudevents.events import RequestContext, read_cloudevent
from shared.cloudevents.json_validation import PARSE_ERRORS
from shared.cloudevents.refusal import Refusal
from shared.contracts.api_answers.events import Value
from shared.contracts.api_answers.pages import Page
from shared.contracts.api_answers.previews import Preview
from shared.contracts.api_answers.problems import FieldError
from shared.contracts.document_items import DocumentKey
from shared.contracts.documents import Destination, Pipe
from shared.contracts.egress_policy import EgressPolicy
from shared.contracts.limits import MAX_DOCUMENT_DEPTH
from shared.documents.nesting import deeper_than
from shared.dynamodb.document_reader import PAGE_BYTES
from shared.runtime.clock import Clock
from shared.runtime.concurrency_limit import TenantConcurrencyLimit

AT_ONCE: Final = 3
"""Previews that a process computes at the same time, so that they do not hold up all other requests."""

_OF_TENANT: Final = 2
_AGAIN_SECONDS: Final = 1

_SECONDS: Final = 1.0
"""Seconds of work after which an answer ends with the current pipe; `next` goes on from there."""

_KEPT: Final = 16
_encode: Final = msgspec.json.Encoder().encode
_UNSAVED: Final = "unsaved"
_NO_ID: Final = "unused"


class TryRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """An event, and a pipe to try it on: its name, one that is not saved, or none for all of a source."""

    event: Value
    source: str | None = None
    pipe: str | dict[str, Any] | None = None


def try_routes(
    documents: Documents, rollouts: Rollouts, access: Access, clock: Clock, body_bytes: int
) -> APIRouter:
    """The route."""
    router = APIRouter()
    tries = TenantConcurrencyLimit(
        AT_ONCE, _OF_TENANT, partial(busy, _AGAIN_SECONDS), partial(tenant_busy, _AGAIN_SECONDS)
    )

    @router.post(
        "/v1/tenants/{tenant}/try",
        dependencies=[Depends(access.guard(Action.READ))],
        **route(200, body=TryRequest, answers=[Page[Preview]]),
    )
    def try_event(
        tenant: str,
        body: Annotated[bytes, Depends(body_reader(body_bytes))],
        request: Request,
        limit: Text = None,
        cursor: Text = None,
    ) -> Response:
        request.state.dry_run = True  # it writes nothing, and nothing is audited
        most, after = requests.limit(limit), requests.after(cursor)
        with tries.permit(tenant):
            return _answer(documents, rollouts.as_open, tenant, _asked(body), (most, after), clock())

    return router


def _answer(  # noqa: PLR0913, PLR0917  # what is read, what is asked, and the time
    documents: Documents,
    as_open: Callable[[Pipe], Pipe],
    tenant: str,
    asked: TryRequest,
    page: tuple[int, str | None],
    now_ms: int,
) -> Response:
    event = _event(asked, now_ms)
    until, (most, after) = time.monotonic() + _SECONDS, page
    chosen, destination = _chosen(documents, tenant, asked, after)
    items: list[Raw] = []
    size, last = 0, None
    for pipe in chosen:
        if items and (len(items) == most or size > PAGE_BYTES or time.monotonic() > until):
            return views.listed(items, last)
        found = preview(as_open(pipe), event, destination(pipe.destination), now_ms)
        items.append(Raw(_encode(found)))
        size, last = size + len(items[-1]), pipe.name
    return views.listed(items, None)


def _asked(body: bytes) -> TryRequest:
    """The request; its event stays as it was sent, and how deep that nests is checked with it."""
    try:
        asked = msgspec.json.decode(body, type=TryRequest)
    except msgspec.ValidationError as error:
        raise intent.wrong_body(error) from None
    except PARSE_ERRORS as error:
        raise requests.not_json(error) from None
    if deeper_than(asked.pipe, MAX_DOCUMENT_DEPTH):
        raise requests.nested_too_deep()
    return asked


def _event(asked: TryRequest, now_ms: int) -> PreviewEvent:
    """The event, if collect would take it."""
    context = RequestContext.at(now_ms, asked.source or _UNSAVED, lambda: _NO_ID)
    found = read_cloudevent(bytes(asked.event), context)
    if isinstance(found, Refusal):
        pointer = "" if found.field == "$" else f"/{found.field}"
        error = FieldError(document="event", pointer=pointer, detail=found.detail, fix=found.fix)
        raise intent.wrong([error])
    return preview_event(found.item)


def _chosen(
    documents: Documents, tenant: str, asked: TryRequest, after: str | None
) -> tuple[Iterable[Pipe], Callable[[str], Destination | None]]:
    """The pipes to try behind a name, in order of name, and the tenant's destinations by name."""
    destination = _destinations(documents, tenant)
    if asked.pipe is None:
        if asked.source is None:
            raise wrong_request("", "names neither a source nor a pipe", "give `source`, `pipe` or both")
        return _of_source(documents, tenant, asked.source, after), destination
    pipe = _unsaved(tenant, asked) if isinstance(asked.pipe, dict) else _saved(documents, tenant, asked.pipe)
    if asked.source not in (None, pipe.source):
        raise wrong_request(
            "/source", f"is not the pipe's {pipe.source!r}", "leave it out, or write the same"
        )
    return [pipe] if after is None or pipe.name > after else [], destination


def _destinations(documents: Documents, tenant: str) -> Callable[[str], Destination | None]:
    """The tenant's destinations by name; the last few are kept, as pipes share them."""

    @lru_cache(_KEPT)
    def destination(name: str) -> Destination | None:
        found = documents.table.get(tenant, DocumentKey("destination", name))
        return found.document if found is not None and isinstance(found.document, Destination) else None

    return destination


def _of_source(documents: Documents, tenant: str, source: str, after: str | None) -> Iterator[Pipe]:
    """The pipes of a source one by one: all together may be large."""
    found = documents.table.get(tenant, DocumentKey("source", source)) if requests.is_name(source) else None
    if found is None or found.document is None:
        raise wrong_request(
            "/source", f"there is no source {source[:80]!r}", "give the name of one of this tenant's"
        )
    live = (each.document for each in documents.table.live(tenant, "pipe", after))
    return (each for each in live if isinstance(each, Pipe) and each.source == source)


def _saved(documents: Documents, tenant: str, name: str) -> Pipe:
    found = documents.table.get(tenant, DocumentKey("pipe", name)) if requests.is_name(name) else None
    if found is None or not isinstance(found.document, Pipe):
        raise wrong_request(
            "/pipe", f"there is no pipe {name[:80]!r}", "give the name of one of this tenant's"
        )
    return found.document


def _unsaved(tenant: str, asked: TryRequest) -> Pipe:
    """The pipe that the request holds; it may leave out its name, and the source if the request names one."""
    assert isinstance(asked.pipe, dict)
    raw = ({} if asked.source is None else {"source": asked.source}) | asked.pipe
    name = raw.get("name", _UNSAVED)
    document = intent.read(intent.within(tenant, raw, DocumentKey("pipe", str(name))), EgressPolicy())
    assert isinstance(document, Pipe)
    return document
