"""The addresses of the pages of documents."""

from collections.abc import Callable
from functools import partial
from http import HTTPStatus
from typing import Final

from fastapi import Request, Response
from nicegui import ui

from pipelines.management.console.api_client import ProblemError
from pipelines.management.console.forms.yaml_text import TooLongError
from pipelines.management.console.html import joined, tag
from pipelines.management.console.observe_client import UnreachableError
from pipelines.management.console.pages.chain_routes import add_chain_pages
from pipelines.management.console.pages.editor import Choices, Editor
from pipelines.management.console.pages.form import content_of
from pipelines.management.console.pages.frame import failure, further, page_of, trail
from pipelines.management.console.pages.history import History, history_button
from pipelines.management.console.pages.keys import show_keys
from pipelines.management.console.pages.listing import (
    NEW,
    show_listing,
    show_own_tenants,
    show_tenants,
    status_of,
)
from pipelines.management.console.pages.live import live_link
from pipelines.management.console.pages.members import add_member_pages
from pipelines.management.console.pages.rollout import RolloutPanel
from pipelines.management.console.pages.sides import add_sides_page
from pipelines.management.console.pages.try_panel import TryPanel
from pipelines.management.console.pages.visit import KINDS, Build, Desk, Shown, Visit, refusal
from pipelines.management.console.panels.base import empty, write
from pipelines.management.console.plain_page import failure_page
from pipelines.management.console.session import COOKIE
from pipelines.management.console.signing_in.page_guard import instead
from pipelines.management.console.signing_in.sign_in import HOME, redirect
from shared.contracts.api_answers.documents import NewestVersion
from shared.oidc.errors import ProviderAwayError

_SECONDS: Final = 30.0


def add_pages(desk: Desk, add_head: Callable[[], None]) -> None:
    """Register the pages. `add_head` adds the console's style sheet to a page."""

    async def shown(request: Request, tenant: str, here: str, build: Build) -> Response | None:
        try:
            visit = await desk.visit(request, tenant)
        except ProviderAwayError as error:
            text = f"The sign-in service does not answer: {error}. Load the page again in a moment."
            return instead(failure_page(text))
        if visit is None:
            return instead(desk.to_sign_in(request))
        try:
            visit = await desk.informed(visit)
            draw = await build(visit)
        except ProblemError as error:
            if error.status == HTTPStatus.UNAUTHORIZED:
                desk.sessions.end(visit.session.id)
                return instead(desk.to_sign_in(request))
            draw = _failed(
                refusal(error) if error.status != HTTPStatus.NOT_FOUND else "There is nothing here."
            )
        except UnreachableError as error:
            draw = _failed(str(error))
        add_head()
        with page_of(visit, here):
            draw()
        return None

    add_chain_pages(shown)
    add_member_pages(shown, desk)
    add_sides_page(shown)
    _add_choice_of_tenant(shown, desk)
    _add_documents(shown)


def _failed(text: str) -> Callable[[], object]:
    return lambda: failure(text)


def _add_choice_of_tenant(shown: Shown, desk: Desk) -> None:
    @ui.page(HOME, title="hifi: documents", response_timeout=_SECONDS)
    async def home(request: Request) -> Response | None:
        async def build(visit: Visit) -> Callable[[], object]:
            if visit.session.identity.operates:
                known = await visit.account.tenants(_cursor(request))
                return lambda: show_tenants(visit, known)
            return lambda: show_own_tenants(visit)

        session = desk.sessions.find(request.cookies.get(COOKIE))
        if session is not None and session.identity.tenant is not None:  # it has no other
            return instead(redirect(f"{HOME}/{session.identity.tenant}/sources"))
        return await shown(request, "", "", build)

    @ui.page(HOME + "/{tenant}", title="hifi: documents")
    async def of_tenant(request: Request) -> Response:
        return instead(redirect(f"{request.url.path}/sources"))


def _add_documents(shown: Shown) -> None:
    @ui.page(HOME + "/{tenant}/{kind}", title="hifi: documents", response_timeout=_SECONDS)
    async def listing(request: Request, tenant: str, kind: str) -> Response | None:
        async def build(visit: Visit) -> Callable[[], object]:
            cursor = _cursor(request)
            page = await visit.account.documents(tenant, _known(kind), cursor)
            return lambda: show_listing(visit, kind, page, cursor)

        return await shown(request, tenant, kind, build)

    @ui.page(HOME + "/{tenant}/{kind}/{name}", title="hifi: document", response_timeout=_SECONDS)
    async def document(request: Request, tenant: str, kind: str, name: str) -> Response | None:
        async def build(visit: Visit) -> Callable[[], object]:
            if name == NEW:
                return await _new(visit, _known(kind))
            return await _document_or_deletion(visit, _known(kind), name)

        return await shown(request, tenant, kind, build)

    @ui.page(HOME + "/{tenant}/{kind}/{name}/history", title="hifi: history", response_timeout=_SECONDS)
    async def history(request: Request, tenant: str, kind: str, name: str) -> Response | None:
        async def build(visit: Visit) -> Callable[[], object]:
            return await _history(visit, _known(kind), name, _cursor(request))

        return await shown(request, tenant, kind, build)


def _cursor(request: Request) -> str:
    return request.query_params.get("cursor", "")


def _known(kind: str) -> str:
    if kind not in KINDS:
        raise ProblemError(HTTPStatus.NOT_FOUND, "not found")
    return kind


async def _choices(visit: Visit, kind: str) -> Choices:
    if kind == "destinations":
        return Choices(connectors={each.name: each.options for each in await visit.account.connectors()})
    if kind == "pipes":
        names = {
            f"/{KINDS[other]}": await visit.account.names(visit.tenant, other)
            for other in ("sources", "destinations")
        }
        return Choices(names={field: found for field, found in names.items() if found is not None})
    return Choices()


async def _new(visit: Visit, kind: str) -> Callable[[], object]:
    choices = await _choices(visit, kind)
    content = content_of(kind, {}, choices.connectors)

    def draw() -> None:
        with ui.element("section").classes("card span-12"):
            write(trail((kind.title(), visit.address(kind)), (f"New {KINDS[kind]}", "")))
            editor = Editor(visit, kind, None, choices, content)
        if kind == "pipes":
            TryPanel(visit, editor)

    return draw


async def _document_or_deletion(visit: Visit, kind: str, name: str) -> Callable[[], object]:
    """The page of a document, or the way to the history of one that was deleted."""
    try:
        return await _document(visit, kind, name)
    except ProblemError as error:
        if error.status != HTTPStatus.NOT_FOUND:
            raise
        await visit.account.history(visit.tenant, kind, name, "", limit="1")  # 404 as well if it never was

    def draw() -> None:
        with ui.element("section").classes("card span-12"):
            write(trail((kind.title(), visit.address(kind)), (name, "")))
            write(empty("It was deleted.", history_button(visit, kind, name)))

    return draw


async def _document(visit: Visit, kind: str, name: str) -> Callable[[], object]:
    stored = await visit.account.document(visit.tenant, kind, name)
    choices = await _choices(visit, kind)
    keys = await visit.account.keys(visit.tenant, name) if kind == "sources" else []
    try:
        content = await visit.apart(partial(content_of, kind, stored.document or {}, choices.connectors))
    except TooLongError as error:
        return _failed(f"This cannot be shown: {error}.")

    def draw() -> None:
        with ui.element("section").classes("card span-12"):
            with ui.element("div").classes("row title"):
                write(joined(trail((kind.title(), visit.address(kind)), (name, "")), _facts(stored)))
                live = live_link(visit, name) if kind == "pipes" else None
                write(joined(live, history_button(visit, kind, name)), "row")
            editor = Editor(visit, kind, stored, choices, content)
        if kind == "sources":
            show_keys(visit, name, keys)
        if kind == "pipes":
            TryPanel(visit, editor)
            RolloutPanel(visit, name, stored, lambda: editor.stored)

    return draw


def _facts(stored: NewestVersion) -> str:
    return tag("p", f"Version {stored.version}, by {stored.by} ", status_of(stored.status), class_="note")


async def _history(visit: Visit, kind: str, name: str, cursor: str) -> Callable[[], object]:
    page = await visit.account.history(visit.tenant, kind, name, cursor)
    first = await visit.account.history(visit.tenant, kind, name, "", limit="1") if cursor else page

    def draw() -> None:
        with ui.element("section").classes("card span-12"):
            steps = ((kind.title(), visit.address(kind)), (name, visit.address(kind, name)), ("History", ""))
            write(trail(*steps))
            History(visit, kind, name, page.items, first.items[0])
            further(visit.address(kind, name, "history"), page.next, "Older")

    return draw
