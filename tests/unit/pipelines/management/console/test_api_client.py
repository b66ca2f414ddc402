"""The console's client of the management API."""

import asyncio

import pytest

from pipelines.management.console.api_client import ApiClient, ProblemError, path_of

LONG = path_of("tenants", "t", "pipes", "x" * 70_000)
"""Longer than the HTTP client permits for a URL."""


def test_an_address_that_is_too_long_is_refused_and_not_a_fault_of_the_console() -> None:
    async def scene() -> None:
        async with ApiClient("http://127.0.0.1:9", 1) as client:
            with pytest.raises(ProblemError, match="URL too long"):
                await client.send("token", "GET", LONG)
            with pytest.raises(ProblemError, match="URL too long"):
                await anext(client.stream("token", LONG))

    asyncio.run(scene())
