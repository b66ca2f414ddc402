"""Strangers' sign-ins during an issuer's outage delay none of the signed-in people."""

import asyncio
import threading
from typing import Any, cast
from urllib.parse import parse_qs, urlsplit

import httpx
from fastapi import FastAPI

from pipelines.management.console.session import Identity, Sessions
from pipelines.management.console.signing_in.issuer_sign_in import add_issuer_sign_in
from pipelines.management.console.signing_in.issuer_threads import renewal
from shared.oidc.code_flow import SignedIn, SignIn

STRANGERS = 40
"""More than asyncio's own threads; there are 32 at most."""

SECONDS = 60.0
"""Seconds after which a missing event counts as a failure."""


class Flow:
    """An issuer that renews tokens; requests for its sign-in address wait until `there` is set."""

    def __init__(self) -> None:
        self.there, self.asked = threading.Event(), 0

    def address(self, sign_in: SignIn, prompt: str | None = None) -> str:
        del sign_in, prompt
        self.asked += 1
        assert self.there.wait(2 * SECONDS)
        return "https://issuer.example.com/authorize"

    def renew(self, former: SignedIn) -> SignedIn:
        return SignedIn(token="newer", claims={"exp": 3_600}, refresh_token=former.refresh_token)


def test_strangers_who_wait_for_the_issuer_hold_up_no_renewal_and_the_others_are_answered() -> None:
    flow: Any = Flow()
    app, nothing = FastAPI(), cast(Any, None)
    sessions = Sessions(lambda: 0, renewal(flow))
    add_issuer_sign_in(app, nothing, sessions, flow, lambda: 0, secure=False)
    due = SignedIn(token="t", claims={"exp": 1}, refresh_token="r")
    mine = sessions.begin("t", Identity(id="ann"), due)

    async def scene() -> list[str]:
        transport = httpx.ASGITransport(app=app)
        async with httpx.AsyncClient(transport=transport, base_url="http://console.test") as http:
            starts = [asyncio.create_task(http.get("/sign-in/start")) for _ in range(STRANGERS)]
            try:
                async with asyncio.timeout(SECONDS):
                    while sum(each.done() for each in starts) + flow.asked < STRANGERS:  # noqa: ASYNC110
                        await asyncio.sleep(0.01)
                    renewed = await sessions.renewed(mine.id)
                assert renewed is not None and renewed.token == "newer"
            finally:
                flow.there.set()
            return [each.headers["location"] for each in await asyncio.gather(*starts)]

    led = asyncio.run(scene())
    assert led.count("https://issuer.example.com/authorize") == flow.asked == 4
    reasons = [parse_qs(urlsplit(each).query).get("reason") for each in led]
    assert reasons.count(["crowded"]) == STRANGERS - 4
