"""The addresses of the pages about what goes through the chain: dead letters, and live events of a pipe."""

from collections.abc import Callable
from typing import Final

from fastapi import Request, Response
from nicegui import Client, ui

from pipelines.management.console.dead_letter_query import query_of
from pipelines.management.console.pages.dead_letter_list import show_letters
from pipelines.management.console.pages.dead_letter_view import show_letter
from pipelines.management.console.pages.frame import LETTERS
from pipelines.management.console.pages.live import show_live
from pipelines.management.console.pages.visit import Shown, Visit
from pipelines.management.console.signing_in.sign_in import HOME

_SECONDS: Final = 30.0
_ROOT: Final = HOME + "/{tenant}/" + LETTERS


def add_chain_pages(shown: Shown) -> None:
    """Register the pages; before those of documents, since the addresses of those would also fit."""

    @ui.page(_ROOT, title="hifi: dead letters", response_timeout=_SECONDS)
    async def listing(request: Request, tenant: str) -> Response | None:
        async def build(visit: Visit) -> Callable[[], object]:
            query = query_of(request.query_params)
            page = await visit.account.dead_letters(tenant, query)
            return lambda: show_letters(visit, query, page)

        return await shown(request, tenant, LETTERS, build)

    @ui.page(_ROOT + "/{partition}/{offset}", title="hifi: dead letter", response_timeout=_SECONDS)
    async def one(request: Request, tenant: str, partition: str, offset: str) -> Response | None:
        async def build(visit: Visit) -> Callable[[], object]:
            letter = await visit.account.dead_letter(tenant, partition, offset)
            return lambda: show_letter(visit, letter)

        return await shown(request, tenant, LETTERS, build)

    @ui.page(HOME + "/{tenant}/pipes/{name}/live", title="hifi: live events", response_timeout=_SECONDS)
    async def live(request: Request, client: Client, tenant: str, name: str) -> Response | None:
        async def build(visit: Visit) -> Callable[[], object]:
            await visit.account.document(tenant, "pipes", name)
            return lambda: show_live(visit, name, client)

        return await shown(request, tenant, "pipes", build)
