"""Bounds the writes of documents at once: each takes a thread, and checks all that its tenant has."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractContextManager
from functools import partial
from typing import Final

from fastapi import Request

from pipelines.management.api.problems import server_busy, tenant_busy
from pipelines.management.api.rights.access import body_reader
from shared.runtime.concurrency_limit import TenantConcurrencyLimit

AT_ONCE: Final = 16
"""Writes and dry runs that a process handles at the same time; the other threads are for what reads."""

OF_TENANT: Final = 4
CHECKS_AT_ONCE: Final = 2
"""Dry runs of more documents than one write takes, which last longer."""

CHECKS_OF_TENANT: Final = 1
_AGAIN_SECONDS: Final = 1
_CHECK_SECONDS: Final = 2

HeldBody = Callable[[Request], AsyncIterator[bytes]]
Permit = Callable[[Request], AsyncIterator[None]]


class WriteLimits:
    """Limits the concurrent writes of one process: refuses with 429 before a request takes a thread."""

    def __init__(self) -> None:
        self._writes = TenantConcurrencyLimit(
            AT_ONCE,
            OF_TENANT,
            partial(server_busy, "writes", _AGAIN_SECONDS),
            partial(tenant_busy, _AGAIN_SECONDS),
        )
        self._checks = TenantConcurrencyLimit(
            CHECKS_AT_ONCE,
            CHECKS_OF_TENANT,
            partial(server_busy, "writes", _CHECK_SECONDS),
            partial(tenant_busy, _CHECK_SECONDS),
        )

    async def permit(self, request: Request) -> AsyncIterator[None]:
        """A dependency of a route without a request body, after its guard."""
        with self._writes.permit(request.path_params["tenant"]):
            yield

    def body(self, most: int) -> HeldBody:
        """A dependency that gives the body, as `body_reader` does, and holds a permit until it is handled.

        The permit is taken when the body is there: clients that send slowly keep no one out.
        """
        read = body_reader(most)

        async def held(request: Request) -> AsyncIterator[bytes]:
            body = await read(request)
            with self._writes.permit(request.path_params["tenant"]):
                yield body

        return held

    def check(self, tenant: str) -> AbstractContextManager[None]:
        """A permit for a dry run of many documents."""
        return self._checks.permit(tenant)
