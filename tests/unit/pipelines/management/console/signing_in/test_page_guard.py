"""A page loads only for a session with few pages that still wait for their browsers."""

import asyncio

import httpx
import pytest
from starlette.types import Receive, Scope, Send

from pipelines.management.console.session import COOKIE, Identity, Sessions
from pipelines.management.console.signing_in.page_guard import MOST_WAITING, MOST_WAITING_EACH, PageGuard

PAGES = ("/", "/documents", "/documents/shop", "/documents/shop/pipes/p/history", "/sides")
NO_PAGES = ("/sign-in", "/sign-in/start", "/invitation", "/healthz", "/static/style.css", "/documentsx")


class Application:
    """The guarded application; it answers when the test permits it."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.answers = asyncio.Event()
        self.answers.set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.asked.append(scope["path"])
        await self.answers.wait()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})


class Scene:
    """A guard with two sessions."""

    def __init__(self, open_meter: bool = False) -> None:
        self.application, self.waiting = Application(), list[str | None]()
        sessions = Sessions(lambda: 0)
        self.ann, self.bob = (sessions.begin("t", Identity(id=each)).id for each in ("ann", "bob"))
        guard = PageGuard(self.application, sessions, lambda: self.waiting, open_meter=open_meter)
        transport = httpx.ASGITransport(app=guard)
        self._http = httpx.AsyncClient(transport=transport, base_url="http://console.test", trust_env=False)

    async def get(self, path: str, session: str = "") -> httpx.Response:
        return await self._http.get(path, headers={"Cookie": f"{COOKIE}={session}"} if session else {})


@pytest.mark.parametrize("session", ["", "ended"])
def test_without_a_session_a_page_leads_to_the_form_and_nothing_is_built(session: str) -> None:
    async def scene() -> None:
        side = Scene()
        answers = [await side.get(path, session) for path in PAGES]
        assert {each.status_code for each in answers} == {303} and side.application.asked == []
        wanted = "/sign-in?reason=ended&next=%2Fsides" if session else "/sign-in?next=%2Fsides"
        assert [each.headers["location"] for each in (answers[0], answers[-1])] == ["/documents", wanted]

    asyncio.run(scene())


def test_a_session_has_its_pages_and_the_rest_needs_none() -> None:
    async def scene() -> None:
        side = Scene()
        answers = [await side.get(path, side.ann) for path in PAGES]
        answers += [await side.get(path) for path in NO_PAGES]
        assert {each.status_code for each in answers} == {200}
        assert side.application.asked == [*PAGES, *NO_PAGES]

    asyncio.run(scene())


def test_a_session_with_too_many_pages_that_wait_gets_no_more_and_others_do() -> None:
    async def scene() -> None:
        side = Scene()
        side.waiting += [side.ann] * MOST_WAITING_EACH
        refused = await side.get("/sides", side.ann)
        assert (refused.status_code, refused.headers["retry-after"]) == (503, "5")
        assert (await side.get("/sides", side.bob)).status_code == 200
        side.waiting.pop()
        assert (await side.get("/sides", side.ann)).status_code == 200

    asyncio.run(scene())


def test_pages_that_are_being_loaded_count_too() -> None:
    async def scene() -> None:
        side = Scene()
        side.application.answers.clear()
        loads = [asyncio.create_task(side.get("/documents", side.ann)) for _ in range(2 * MOST_WAITING_EACH)]
        await asyncio.wait(loads, return_when=asyncio.FIRST_COMPLETED)
        side.application.answers.set()
        answers = await asyncio.gather(*loads)
        assert [each.status_code for each in answers] == [200] * MOST_WAITING_EACH + [503] * MOST_WAITING_EACH
        assert (await side.get("/documents", side.ann)).status_code == 200

    asyncio.run(scene())


def test_an_open_meter_is_bounded_over_all_and_nothing_else_is() -> None:
    async def scene() -> None:
        side = Scene(open_meter=True)
        assert (await side.get("/")).status_code == 200
        side.waiting += [None] * MOST_WAITING
        assert (await side.get("/")).status_code == 503
        assert (await side.get("/documents")).status_code == 303
        assert (await side.get("/healthz")).status_code == 200

    asyncio.run(scene())
