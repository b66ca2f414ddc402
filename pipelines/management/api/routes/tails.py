"""The route of the live tail of a pipe."""

from concurrent.futures import ThreadPoolExecutor

from fastapi import APIRouter, Depends, Request, Response
from starlette.concurrency import run_in_threadpool

from pipelines.management.api import requests
from pipelines.management.api.declared import route
from pipelines.management.api.documents import Documents
from pipelines.management.api.problems import ProblemError, not_found
from pipelines.management.api.rights.access import Access
from pipelines.management.api.rights.permissions import Action
from pipelines.management.api.tail_feed import TailFeed
from pipelines.management.api.tail_stream import EndedError, EventStream
from shared.contracts.document_items import DocumentKey
from shared.contracts.documents import Pipe
from shared.contracts.live_tail import TailEnd


def tail_routes(feed: TailFeed, documents: Documents, access: Access) -> APIRouter:
    """The route."""
    router = APIRouter()
    workers = ThreadPoolExecutor(1, "tail")  # one: masks and transforms must not hold up other requests

    @router.get(
        "/v1/tenants/{tenant}/pipes/{name}/tail",
        dependencies=[Depends(access.guard(Action.READ))],
        response_class=EventStream,
        **route(200),
    )
    async def tail(tenant: str, name: str, request: Request) -> Response:
        key = DocumentKey("pipe", name)

        def pipe() -> Pipe:
            found = documents.live(tenant, key).document
            assert isinstance(found, Pipe)
            return found

        def check() -> Pipe:
            if not access.still(request, Action.READ):
                raise EndedError(TailEnd.TOKEN)
            try:
                return pipe()
            except ProblemError:
                raise EndedError(TailEnd.PIPE) from None

        if not requests.is_name(name):
            raise not_found()
        await run_in_threadpool(pipe)
        return EventStream(feed, feed.join(tenant, name), check, workers)

    return router
