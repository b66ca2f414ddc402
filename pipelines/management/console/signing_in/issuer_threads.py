"""Threads for requests to the issuer: a few for strangers, others for people who are signed in."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

from pipelines.management.console.session import Renew
from shared.oidc.code_flow import CodeFlow, SignedIn
from shared.runtime.concurrency_limit import ConcurrencyLimit

T = TypeVar("T")
_RENEWALS: Final = 8
"""Tokens that are renewed at a time; further ones wait."""

_AT_ONCE: Final = 4


class CrowdedError(Exception):
    """Too many others ask for the same already."""


class FewThreads:
    """A few threads for requests without a session; while all are busy, further ones are refused."""

    def __init__(self, name: str) -> None:
        self._threads = ThreadPoolExecutor(_AT_ONCE, name)
        self._limit = ConcurrencyLimit(_AT_ONCE, lambda: CrowdedError(f"{_AT_ONCE} {name}s are under way"))

    async def run(self, work: Callable[[], T]) -> T:
        """The result of `work`, or its error.

        Raises:
            CrowdedError: if no thread is free.
        """
        with self._limit.permit():
            return await asyncio.get_running_loop().run_in_executor(self._threads, work)


def renewal(flow: CodeFlow) -> Renew:
    """Asks the issuer for newer tokens, on threads of its own: no stranger's sign-in holds that up."""
    threads = ThreadPoolExecutor(_RENEWALS, "renewal")

    async def renewed(former: SignedIn) -> SignedIn:
        return await asyncio.get_running_loop().run_in_executor(threads, flow.renew, former)

    return renewed
