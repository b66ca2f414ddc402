"""Routes of a tenant's dead letters."""

from typing import Annotated, Any, Final

from fastapi import APIRouter, Depends, Query, Request, Response
from msgspec import Meta, Struct

from pipelines.management.api import requests, views
from pipelines.management.api.dead_letters import MOST_REPLAYED, DeadLetters, Wanted
from pipelines.management.api.declared import Text, route
from pipelines.management.api.documents import Documents
from pipelines.management.api.intent import wrong_request
from pipelines.management.api.leaving import Leaving, named
from pipelines.management.api.problems import not_found
from pipelines.management.api.rights.access import Access, body_reader
from pipelines.management.api.rights.permissions import Action
from pipelines.management.api.routes.documents import decoded
from shared.contracts.api_answers.dead_letters import Letter, LetterPage, ReplayCounts, WholeLetter
from shared.contracts.document_items import DocumentKey
from shared.contracts.documents import Pipe
from shared.contracts.timestamps import parse_time
from shared.dead_letters.dead_letter import DeadLetter, Filter, LeadsTo, facts, reference
from shared.dead_letters.replayed import ReplayedLetters
from shared.dead_letters.search import Position, position_text, read_position

_ROOT: Final = "/v1/tenants/{tenant}/dead-letters"


class LetterConditions(Struct, frozen=True, forbid_unknown_fields=True):
    """Conditions on dead letters; those that are null do not apply. Times are RFC 3339."""

    pipe: str | None = None
    destination: str | None = None
    reason: str | None = None
    since: str | None = None
    until: str | None = None


class ReplayRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """Dead letters by their names, `partition/offset`, or by conditions."""

    letters: Annotated[list[str], Meta(min_length=1, max_length=requests.MOST_LISTED)] | None = None
    filter: LetterConditions | None = None
    limit: Annotated[int, Meta(ge=1, le=MOST_REPLAYED)] = MOST_REPLAYED
    cursor: str | None = None


def dead_letter_routes(
    letters: DeadLetters, documents: Documents, access: Access, body_bytes: int
) -> APIRouter:
    """The routes. Handlers run on threads: they read topics."""
    router = APIRouter()
    _add_list(router, letters, documents, access)
    _add_one(router, letters, documents, access)
    _add_replay(router, letters, documents, access, body_bytes)
    return router


def _add_list(router: APIRouter, letters: DeadLetters, documents: Documents, access: Access) -> None:
    @router.get(_ROOT, dependencies=[Depends(access.guard(Action.READ))], **route(200, answers=[LetterPage]))
    def listing(
        tenant: str,
        conditions: Annotated[Filter, Depends(_asked)],
        limit: Text = None,
        cursor: Text = None,
        every: Annotated[str | None, Query(alias="all")] = None,
    ) -> Response:
        wanted = Wanted(
            filter=conditions,
            before=_before(cursor),
            limit=requests.limit(limit),
            replayed_too=requests.flag("all", every),
        )
        with letters.turn(tenant):
            page, replayed = letters.page(_leads_to(documents, tenant), wanted)
        items = [Letter(**_in_short(letter, replayed)) for letter in page.letters]
        return views.json_response(LetterPage(items=items, next=_cursor(page.following), cut=page.cut))


def _add_one(router: APIRouter, letters: DeadLetters, documents: Documents, access: Access) -> None:
    path = _ROOT + "/{partition}/{offset}"

    @router.get(path, dependencies=[Depends(access.guard(Action.READ))], **route(200, answers=[WholeLetter]))
    def whole(tenant: str, partition: str, offset: str) -> Response:
        place = reference(f"{partition}/{offset}")
        if place is None:
            raise not_found()
        with letters.turn(tenant):
            wanted = Filter(tenant=tenant, places=frozenset((place,)))
            found = letters.one(_leads_to(documents, tenant), wanted)
            if found is None:
                raise not_found()
            letter, replayed = found
            # In the turn, too: masks and a transform may take a second of a core.
            shown = Leaving(_pipe(documents, tenant, letter.pipe)).shown(letter.value, letter.texts)
        return views.json_response(WholeLetter(**_in_short(letter, replayed), **shown))


def _add_replay(
    router: APIRouter, letters: DeadLetters, documents: Documents, access: Access, body_bytes: int
) -> None:
    @router.post(
        _ROOT + "/replay",
        dependencies=[Depends(access.guard(Action.WRITE))],
        **route(200, body=ReplayRequest, answers=[ReplayCounts]),
    )
    def replay(
        tenant: str,
        request: Request,
        body: Annotated[bytes, Depends(body_reader(body_bytes))],
        dry_run: Text = None,
    ) -> Response:
        dry = request.state.dry_run = requests.flag("dry_run", dry_run)
        wanted = _wanted(tenant, decoded(ReplayRequest, body))
        with letters.turn(tenant):
            done = letters.replay(_leads_to(documents, tenant), wanted, dry_run=dry)
        request.state.detail = f"{done.replayed} replayed, {done.replayed_before} replayed before"
        counts = ReplayCounts(
            dry_run=dry,
            matching=done.matching,
            replayed_before=done.replayed_before,
            replayed=done.replayed,
            next=_cursor(done.following),
            cut=done.cut,
        )
        return views.json_response(counts)


def _asked(  # noqa: PLR0913, PLR0917  # the parameters of a list
    tenant: str,
    pipe: Text = None,
    destination: Text = None,
    reason: Text = None,
    since: Text = None,
    until: Text = None,
) -> Filter:
    conditions = LetterConditions(pipe=pipe, destination=destination, reason=reason, since=since, until=until)
    return _filter(tenant, conditions, "")


def _wanted(tenant: str, asked: ReplayRequest) -> Wanted:
    if (asked.letters is None) == (asked.filter is None):
        raise wrong_request("", "names neither letters nor a filter, or both", "give `letters` or `filter`")
    if asked.letters is None:
        assert asked.filter is not None
        found = _filter(tenant, asked.filter, "/filter")
        return Wanted(filter=found, before=_before(asked.cursor), limit=asked.limit)
    places = [reference(text) for text in asked.letters]
    if None in places:
        at = places.index(None)
        raise wrong_request(f"/letters/{at}", "is no letter", "write `partition/offset`, as the list has it")
    known = frozenset(place for place in places if place is not None)
    return Wanted(filter=Filter(tenant=tenant, places=known), limit=len(known))


def _filter(tenant: str, asked: LetterConditions, below: str) -> Filter:
    return Filter(
        tenant=tenant,
        pipe=asked.pipe,
        destination=asked.destination,
        reason=asked.reason,
        since_ms=_moment(asked.since, f"{below}/since"),
        until_ms=_moment(asked.until, f"{below}/until"),
    )


def _moment(text: str | None, pointer: str) -> int | None:
    found = None if text is None else parse_time(text)
    if text is not None and found is None:
        raise wrong_request(pointer, "is not a time", "write it like 2026-01-31T12:00:00Z")
    return None if found is None else max(0, found)


def _before(cursor: str | None) -> Position:
    if cursor is None:
        return {}
    position = read_position(requests.cursor_text(cursor))
    if position is None:
        raise requests.wrong_cursor()
    return position


def _pipe(documents: Documents, tenant: str, name: str) -> Pipe | None:
    found = documents.table.get(tenant, DocumentKey("pipe", name))
    return None if found is None or not isinstance(found.document, Pipe) else found.document


def _leads_to(documents: Documents, tenant: str) -> LeadsTo:
    """The destination of each pipe; of the pipes themselves, which may be large, no more than one is held."""
    live = (each.document for each in documents.table.live(tenant, "pipe"))
    return {(tenant, each.name): each.destination for each in live if isinstance(each, Pipe)}


def _in_short(letter: DeadLetter, replayed: ReplayedLetters) -> dict[str, Any]:
    said = facts(letter, replayed)
    del said["tenant"]
    return said | named(letter.texts)


def _cursor(following: Position | None) -> str | None:
    return requests.cursor_of(None if following is None else position_text(following))
