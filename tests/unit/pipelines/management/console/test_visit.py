"""A page makes no API call while its session cannot be renewed."""

import asyncio
import gc
import warnings
from typing import Any

import pytest

from pipelines.management.console.fair_threads import FairThreads
from pipelines.management.console.observe_client import UnreachableError
from pipelines.management.console.pages.visit import Visit
from pipelines.management.console.session import Identity, Sessions
from shared.oidc.code_flow import SignedIn
from shared.oidc.errors import ProviderAwayError

ENDED = SignedIn(token="t", claims={"sub": "u", "exp": 0}, refresh_token="r")
ANN = Identity(id="p1", expires_ms=0)


async def away(_: SignedIn) -> SignedIn:
    raise ProviderAwayError("away")


def test_a_call_that_is_not_made_leaves_nothing_behind_that_python_warns_of() -> None:
    sessions = Sessions(lambda: 0, away)
    given: Any = None  # the call is passed on unchanged
    calls: list[int] = []
    session = sessions.begin("t", ANN, ENDED)
    visit = Visit(session=session, sessions=sessions, account=given, threads=FairThreads(), tenant="shop")

    async def call() -> None:
        calls.append(1)

    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        with pytest.raises(UnreachableError, match="sign-in service does not answer"):
            asyncio.run(visit.allowed(call()))
        gc.collect()
    assert not calls
    assert not [each for each in warned if "never awaited" in str(each.message)]
