"""Names without an answer from any name server delay no other tenant's look-ups."""

import asyncio
import socket
import threading
from asyncio import StreamReader, StreamWriter
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from aiohttp.abc import ResolveResult

from shared.contracts.egress_policy import EgressPolicy
from shared.runtime.egress import SENDER, FairResolver, open_session

THREADS = 4
WAIT_SECONDS = 60


@pytest.fixture
def silent(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Until it is set, look-ups below `dead.example` do not end; other names resolve to this machine."""
    answered = threading.Event()

    def look_up(host: str, port: int, **_: Any) -> list[Any]:
        if host.endswith(".dead.example"):
            answered.wait(WAIT_SECONDS)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port))]

    monkeypatch.setattr(socket, "getaddrinfo", lambda host, port, *_, **named: look_up(host, port, **named))
    return answered


async def look_up(resolver: FairResolver, tenant: str, host: str) -> list[ResolveResult]:
    SENDER.set(tenant)
    return await resolver.resolve(host, 443)


def test_another_tenants_name_is_resolved_while_look_ups_that_were_given_up_go_on(
    silent: threading.Event,
) -> None:
    async def run() -> list[ResolveResult]:
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(THREADS))
        resolver = FairResolver(THREADS)
        dead = [
            asyncio.create_task(look_up(resolver, "a", f"n{number}.dead.example")) for number in range(20)
        ]
        await asyncio.wait(dead, timeout=0.2)
        for task in dead:
            task.cancel()
        await asyncio.wait(dead)
        try:
            return await asyncio.wait_for(look_up(resolver, "b", "good.example"), WAIT_SECONDS / 2)
        finally:
            await resolver.close()
            silent.set()

    (found,) = asyncio.run(run())
    assert found["host"] == "127.0.0.1"


async def _accept(_: StreamReader, writer: StreamWriter) -> None:
    writer.write(b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")
    writer.close()


def test_a_request_does_not_wait_for_another_tenants_look_up_of_the_same_host(
    silent: threading.Event,
) -> None:
    async def run() -> int:
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(THREADS))
        resolver = FairResolver(THREADS)
        server = await asyncio.start_server(_accept, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]

        async def send(tenant: str, host: str) -> int:
            SENDER.set(tenant)
            async with session.post(f"http://{host}:{port}/", data=b"x") as response:
                return response.status

        async with server, open_session(100, EgressPolicy(loopback=True), resolver) as session:
            first = [f"n{number}.dead.example" for number in range(THREADS // 2)]
            waiting = [asyncio.create_task(send("a", host)) for host in [*first, "hooks.example"]]
            await asyncio.wait(waiting, timeout=0.2)
            assert not any(task.done() for task in waiting)
            try:
                return await asyncio.wait_for(send("b", "hooks.example"), WAIT_SECONDS / 2)
            finally:
                silent.set()
                await asyncio.gather(*waiting)
                await resolver.close()

    assert asyncio.run(run()) == 204
