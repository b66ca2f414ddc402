"""Slow bodies and unread answers, on real sockets, while a good client is served."""

import asyncio
import socket
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress

import psutil
import pytest
from fastapi import FastAPI, Request, Response
from fastapi.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from pipelines.control.observe.api.http_server import served
from shared.runtime import idle_connections
from shared.runtime.request_bodies import BodyRefusedError, BoundedBodies
from tests.harness.connections import until_closed
from tests.harness.service_process import request

_HOST = "127.0.0.1"
_SECONDS = 60.0
"""For an immediate body on a busy machine."""
_HASTY_SECONDS = 1.0
_TOGETHER = 512 * 1024
_LONG_SECONDS = 120.0
_BEGUN_BYTES = 300_000
"""Part of a body of 400,000: there is no room for another such body beside it."""
_LARGE = 64 * 128 * 1024
_UNREAD = [(4.0, 1_800_000), pytest.param(5.0, 1024 * 1024, marks=pytest.mark.proof)]
"""Seconds in which a client has to read something, and bytes that a slow one reads per second.

The slow one takes longer than that for the whole answer, and about a quarter of it for 1.3 MiB: a third of
what the kernel holds, which takes more of an answer once so much is read.
"""
_UNREAD_ANSWERS = 30
_GROWTH_BYTES = 100 * 1024 * 1024
"""What unread answers take without a bound: 120 MiB more, as the kernel takes 4 MiB of each."""
_SLOW = b"POST /%b HTTP/1.1\r\nhost: x\r\ncontent-length: %d\r\n\r\n"
_GOOD = b"g" * 8_192


def _refused(error: BodyRefusedError) -> Response:
    return Response(error.detail, error.status, error.headers)


@contextmanager
def _serving(seconds: float) -> Iterator[int]:
    """Port of a server that gives bodies some seconds, and half a mebibyte together."""
    app, begun, answered = FastAPI(), asyncio.Event(), asyncio.Semaphore(0)

    class Large(StreamingResponse):
        async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
            try:
                await super().__call__(scope, receive, send)
            finally:
                answered.release()

    @app.post("/take")
    async def take(request: Request) -> int:
        return len(await request.body())

    @app.post("/ignore")
    async def ignore() -> Response:
        return Response(status_code=401)

    @app.post("/large")
    async def large() -> Response:
        return Large(b"x" * 128 * 1024 for _ in range(64))

    @app.get("/whole")
    async def whole() -> Response:
        return Response(b"x" * _LARGE)

    @app.get("/answered")
    async def has_answered() -> int:
        """Wait for the end of one large answer, complete or not."""
        await answered.acquire()
        return 0

    @app.post("/begin")
    async def begin(request: Request) -> int:
        """Reads the answer so far, in any number of pieces, and then nothing more."""
        pieces, read = aiter(request.stream()), 0
        while read < _BEGUN_BYTES:
            read += len(await anext(pieces))
        begun.set()
        await asyncio.sleep(_LONG_SECONDS)
        return 0

    @app.get("/begun")
    async def has_begun() -> int:
        await begun.wait()
        return 0

    app.add_middleware(BoundedBodies, seconds=seconds, together=_TOGETHER, refuse=_refused)
    with served(app, _HOST, 0) as found:
        yield found


@pytest.fixture
def port() -> Iterator[int]:
    with _serving(_SECONDS) as found:
        yield found


@pytest.fixture
def hasty() -> Iterator[int]:
    with _serving(_HASTY_SECONDS) as found:
        yield found


@contextmanager
def _attackers(port: int, count: int, size: int, first: bytes) -> Iterator[list[socket.socket]]:
    """Connections that declare a body of `size` bytes and have sent only `first` of it."""
    with ExitStack() as stack:
        opened = []
        for _ in range(count):
            each = stack.enter_context(socket.create_connection((_HOST, port), timeout=60))
            with suppress(OSError):
                each.sendall(_SLOW % (b"take", size) + first)
            opened.append(each)
        yield opened


def _resident_bytes() -> int:
    """Resident bytes of this process, in which the server runs."""
    return int(psutil.Process().memory_info().rss)


def _statuses(connections: Sequence[socket.socket]) -> set[int]:
    answers = [until_closed(each) for each in connections]
    return {int(answer.split()[1]) if answer else 0 for answer in answers}


def test_a_body_that_comes_too_slowly_is_408_however_it_trickles(hasty: int) -> None:
    with _attackers(hasty, 1, 1_000, b"") as (slow,):
        began = time.monotonic()
        with suppress(OSError):
            for _ in range(50):
                slow.sendall(b"x")
                time.sleep(0.1)
        answer = until_closed(slow)
        assert time.monotonic() - began < _SECONDS
    assert answer.startswith(b"HTTP/1.1 408") and b"did not arrive in time" in answer


def test_a_body_that_no_route_reads_keeps_its_connection_no_longer(hasty: int) -> None:
    with socket.create_connection((_HOST, hasty), timeout=60) as slow:
        began = time.monotonic()
        slow.sendall(_SLOW % (b"ignore", 1_000))
        answer = until_closed(slow)
        assert time.monotonic() - began < _SECONDS
    assert answer.startswith(b"HTTP/1.1 401") and b"connection: close" in answer.lower()


def test_a_body_that_no_route_reads_but_is_there_leaves_the_connection_open(port: int) -> None:
    with socket.create_connection((_HOST, port), timeout=60) as good:
        for _ in range(3):
            good.sendall(_SLOW % (b"ignore", 70_000) + b"x" * 70_000)
            answer = good.recv(65_536)
            assert answer.startswith(b"HTTP/1.1 401") and b"close" not in answer.lower()


@pytest.mark.parametrize("seconds", [2.0, pytest.param(5.0, marks=pytest.mark.proof)])
@pytest.mark.parametrize(
    ("count", "size", "first"),
    [
        pytest.param(200, 1_000_000, b"", id="slow"),
        pytest.param(40, 200_000, b"x" * 100_000, id="large"),
    ],
)
def test_a_good_client_goes_on_beside_many_bodies_that_do_not_end(
    count: int, size: int, first: bytes, seconds: float
) -> None:
    with _serving(seconds) as port:
        with _attackers(port, count, size, first) as attackers:
            for _ in range(20):
                answer = request(port, "POST", "/take", _GOOD)
                assert (answer.status, answer.text) == (200, str(len(_GOOD)))
            assert _statuses(attackers) <= {0, 408, 503}
        assert request(port, "POST", "/take", _GOOD).status == 200


def test_what_all_bodies_take_together_is_bounded_and_the_oldest_gives_way(port: int) -> None:
    with (
        _attackers(port, 1, 400_000, b"x" * 300_000) as (oldest,),
        _attackers(port, 1, 400_000, b"x" * 300_000) as (newer,),
    ):
        refused = until_closed(oldest)
        assert refused.startswith(b"HTTP/1.1 503") and b"retry-after: 1" in refused.lower()
        newer.sendall(b"x" * 100_000)
        assert newer.recv(65_536).startswith(b"HTTP/1.1 200")
    assert request(port, "POST", "/take", b"x" * (_TOGETHER + 1)).status == 503
    assert request(port, "POST", "/take", _GOOD).status == 200


def test_a_client_that_goes_away_gives_its_memory_back(port: int) -> None:
    for _ in range(20):
        for _ in range(5):
            with _attackers(port, 1, 400_000, b"x" * 300_000):
                pass
        assert request(port, "POST", "/take", b"x" * 400_000).status == 200


@pytest.mark.parametrize("length", [b"0" * 20 + b"300000", b"300000 ", b"300000\t"])
def test_a_body_is_bounded_however_its_length_is_spelled(hasty: int, length: bytes) -> None:
    with socket.create_connection((_HOST, hasty), timeout=60) as slow:
        began = time.monotonic()
        slow.sendall(b"POST /take HTTP/1.1\r\nhost: x\r\ncontent-length: " + length + b"\r\n\r\nx")
        answer = until_closed(slow)
        assert time.monotonic() - began < _SECONDS
    assert answer.startswith(b"HTTP/1.1 408")


def test_clients_that_do_not_read_their_answers_leave_the_memory_to_others(port: int) -> None:
    body = b"x" * 65_536
    with ExitStack() as stack:
        for _ in range(2 * _TOGETHER // len(body)):
            idle = stack.enter_context(socket.create_connection((_HOST, port), timeout=60))
            idle.sendall(_SLOW % (b"large", len(body)) + body)
            assert idle.recv(12) == b"HTTP/1.1 200"
        assert request(port, "POST", "/take", _GOOD).status == 200


def test_large_answers_that_are_not_read_are_bounded_and_the_oldest_gives_way(port: int) -> None:
    resting = _resident_bytes()
    with ExitStack() as stack:
        unread = []
        for _ in range(_UNREAD_ANSWERS):
            each = stack.enter_context(socket.socket())
            each.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
            each.settimeout(60)
            each.connect((_HOST, port))
            each.sendall(b"GET /whole HTTP/1.1\r\nhost: x\r\n\r\n")
            assert each.recv(12) == b"HTTP/1.1 200"
            unread.append(each)
        assert _resident_bytes() - resting < _GROWTH_BYTES
        answer = request(port, "GET", "/whole")
        assert (answer.status, len(answer.text)) == (200, _LARGE), "one that reads has all of it"
        assert until_closed(unread[0]).count(b"x") < _LARGE


@pytest.mark.parametrize(("seconds", "slowly"), _UNREAD)
def test_a_client_that_reads_nothing_of_its_answer_is_dropped_and_one_that_reads_slowly_is_not(
    port: int, monkeypatch: pytest.MonkeyPatch, seconds: float, slowly: int
) -> None:
    monkeypatch.setattr(idle_connections, "UNREAD_SECONDS", seconds)
    with ExitStack() as stack:
        idle, slow = (
            stack.enter_context(socket.create_connection((_HOST, port), timeout=30)) for _ in range(2)
        )
        for each in (idle, slow):
            each.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65_536)
            each.sendall(_SLOW % (b"large", 0))
        read, began = b"", time.monotonic()
        while not read.endswith(b"0\r\n\r\n") and (piece := slow.recv(131_072)):
            read += piece
            time.sleep(len(piece) / slowly)
        assert time.monotonic() - began > seconds
        assert read.count(b"x") >= _LARGE, "it had all of it"
        for _ in (slow, idle):
            assert request(port, "GET", "/answered", seconds=_SECONDS).status == 200
        assert until_closed(idle).count(b"x") < _LARGE


def test_a_request_that_gives_way_ends_though_its_route_does_not_read_on(port: int) -> None:
    with socket.create_connection((_HOST, port), timeout=60) as busy:
        began = time.monotonic()
        busy.sendall(_SLOW % (b"begin", 400_000) + b"x" * _BEGUN_BYTES)
        assert request(port, "GET", "/begun").status == 200
        assert request(port, "POST", "/take", b"x" * 400_000).status == 200
        assert until_closed(busy).startswith(b"HTTP/1.1 503")
        assert time.monotonic() - began < _LONG_SECONDS / 2


def test_a_client_that_asks_first_is_refused_before_it_sends(port: int) -> None:
    with socket.create_connection((_HOST, port), timeout=60) as asks:
        began = time.monotonic()
        head = _SLOW % (b"ignore", 70_000)
        asks.sendall(head.replace(b"host: x", b"host: x\r\nexpect: 100-continue"))
        answer = until_closed(asks)
        assert time.monotonic() - began < _SECONDS
    assert answer.startswith(b"HTTP/1.1 401") and b"connection: close" in answer.lower()
