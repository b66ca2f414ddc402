"""hifi's HTTP servers end connections that send what no request needs, or never read, on real sockets."""

import asyncio
import gc
import socket
import struct
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Final, Literal

import pytest
from fastapi import FastAPI, Request, Response

from shared.runtime import idle_connections
from shared.runtime.http_protocol import BoundedProtocol
from shared.runtime.uvicorn_config import served_beside, server_config
from tests.harness.connections import until_closed
from tests.harness.service_process import HOST
from tests.harness.waiting import eventually

_IDLE_SECONDS: Final = 1
_HEAD_SECONDS: Final = 1.0
_SLOW_SECONDS: Final = [1.5, pytest.param(3.0, marks=pytest.mark.proof)]
"""Longer than an idle connection is kept and than a head may take; in the proof than both together."""

_PART_SECONDS: Final = 0.2
"""Time for the server to read a part, seconds."""

_UNREAD_SECONDS: Final = 1.0
_LONG_SECONDS: Final = 120
_SECONDS: Final = 60.0
"""For immediate answers on a busy machine."""

_KERNEL_BYTES: Final = 4_096
_ANSWER: Final = b"x" * 60_000
"""More than the kernel takes, and too little for the server to wait for its client."""

_GET: Final = b"GET /%b HTTP/1.1\r\nhost: x\r\n\r\n"
_POST: Final = b"POST /%b HTTP/1.1\r\nhost: x\r\ncontent-length: %d\r\n\r\n"
_GET_UPGRADED: Final = b"GET /quick HTTP/1.1\r\nconnection: upgrade\r\nupgrade: h2c\r\n\r\n"
_POST_UPGRADED: Final = (
    b"POST /%b HTTP/1.1\r\nconnection: UpGrade\r\ncontent-length: %d\r\nUpGrade: h2c\r\n\r\n"
)


@contextmanager
def _serving(
    idle_seconds: int, ws: Literal["auto", "none"] = "auto", slow_seconds: float = 0.0
) -> Iterator[int]:
    app = FastAPI()

    @app.post("/refuse")
    async def refuse() -> Response:
        return Response(status_code=401)

    @app.post("/echo")
    async def echo(request: Request) -> Response:
        return Response(await request.body())

    @app.get("/quick")
    async def quick() -> int:
        return 1

    @app.get("/slow")
    async def slow() -> int:
        await asyncio.sleep(slow_seconds)
        return 2

    @app.get("/large")
    async def large() -> Response:
        return Response(_ANSWER)

    @app.get("/last")
    async def last() -> Response:
        return Response(_ANSWER, headers={"connection": "close"})

    with socket.create_server((HOST, 0), backlog=128) as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _KERNEL_BYTES)
        config = server_config(
            app,
            lifespan="off",
            ws=ws,
            timeout_keep_alive=idle_seconds,
            drain_seconds=1,
            head_seconds=_HEAD_SECONDS,
        )
        with served_beside(config, listening) as found:
            yield found


@pytest.fixture
def port() -> Iterator[int]:
    """Port of a server that closes connections after a second of idling."""
    with _serving(_IDLE_SECONDS) as found:
        yield found


@pytest.fixture(params=_SLOW_SECONDS)
def slow_port(request: pytest.FixtureRequest) -> Iterator[int]:
    """Port of such a server with a slow route."""
    with _serving(_IDLE_SECONDS, slow_seconds=request.param) as found:
        yield found


def _connected(port: int) -> socket.socket:
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _KERNEL_BYTES)
    connection.settimeout(_SECONDS)
    connection.connect((HOST, port))
    return connection


@pytest.mark.parametrize("rest", [b"x", b"x" * 1_000], ids=["a part", "all of it"])
def test_the_body_of_a_request_that_has_its_answer_keeps_no_connection_open(port: int, rest: bytes) -> None:
    with _connected(port) as client:
        client.sendall(_POST % (b"refuse", 1_000))
        assert client.recv(65_536).startswith(b"HTTP/1.1 401")
        client.sendall(rest)
        assert until_closed(client) == b""


def test_an_empty_line_keeps_no_connection_open(port: int) -> None:
    with _connected(port) as client:
        client.sendall(_GET % b"quick")
        assert client.recv(65_536).startswith(b"HTTP/1.1 200")
        client.sendall(b"\r\n")
        assert until_closed(client) == b""


def test_a_new_request_keeps_its_connection_open_while_it_is_answered(slow_port: int) -> None:
    with _connected(slow_port) as client:
        for _ in range(2):
            client.sendall(_GET % b"slow")
            assert client.recv(65_536).endswith(b"\r\n\r\n2")


def test_a_request_whose_head_began_before_the_last_answer_is_answered_too(slow_port: int) -> None:
    request = _GET % b"slow"
    with _connected(slow_port) as client:
        client.sendall(_GET % b"quick" + request[:5])
        assert client.recv(65_536).endswith(b"\r\n\r\n1")
        client.sendall(request[5:])
        assert client.recv(65_536).endswith(b"\r\n\r\n2")


@pytest.mark.parametrize(
    "next_one",
    [b"no request\r\n\r\n", b"GET / HTTP/1.1\r\n" + b"x: y\r\n" * 200, b"GET / HTTP/1.1\r\n", _GET_UPGRADED],
    ids=["malformed", "too large", "too slow", "of another protocol"],
)
def test_what_is_said_of_a_request_is_never_taken_for_the_answer_to_the_one_before(
    slow_port: int, next_one: bytes
) -> None:
    with _connected(slow_port) as client:
        client.sendall(_GET % b"slow" + next_one)
        assert until_closed(client) == b""


def test_requests_that_are_sent_together_are_answered_in_their_order(slow_port: int) -> None:
    with _connected(slow_port) as client:
        client.sendall(_GET % b"slow" + _GET % b"quick")
        answers = until_closed(client)
    assert [each[-1:] for each in answers.split(b"HTTP/1.1 200")[1:]] == [b"2", b"1"]


def test_requests_are_not_read_while_others_of_their_connection_wait(slow_port: int) -> None:
    with _connected(slow_port) as client:
        client.sendall(_GET % b"slow" + 400 * (_GET % b"quick"))
        time.sleep(0.5)
        client.sendall(400 * (_GET % b"quick"))
        assert until_closed(client).count(b"HTTP/1.1 200") == 801


def test_a_head_that_is_not_read_because_others_wait_is_not_too_slow(slow_port: int) -> None:
    begin, rest = (_GET % b"quick")[:9], (_GET % b"quick")[9:]
    with _connected(slow_port) as client:
        client.sendall(2 * (_GET % b"slow") + begin)
        time.sleep(0.5)
        client.sendall(rest)
        assert until_closed(client)[-1:] == b"1"


@pytest.mark.parametrize("path", [b"large", b"last"], ids=["kept open", "closed"])
def test_a_client_that_does_not_read_the_end_of_its_answer_is_dropped(
    port: int, path: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(idle_connections, "UNREAD_SECONDS", _UNREAD_SECONDS)
    with _connected(port) as client:
        client.sendall(_GET % path)
        eventually(lambda: not _connections(), _SECONDS, "the server drops the connection")
        assert until_closed(client).count(b"x") < len(_ANSWER)


def test_a_connection_that_is_reset_leaves_nothing_in_memory() -> None:
    with _serving(_LONG_SECONDS) as port:
        for _ in range(20):
            with _connected(port) as client:
                client.sendall(_GET % b"quick")
                assert client.recv(65_536).startswith(b"HTTP/1.1 200")
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        eventually(lambda: not _connections(), _SECONDS, "nothing of them is left")


def test_a_client_that_goes_away_while_requests_wait_is_no_error(
    port: int, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(20):
        with _connected(port) as client:
            client.sendall(30 * (_GET % b"large"))
            assert client.recv(65_536)
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    eventually(lambda: not _connections(), _SECONDS, "nothing of them is left")
    assert "Exception" not in caplog.text


def _connections() -> int:
    """Number of connections that this process has in memory."""
    gc.collect()
    time.sleep(0.05)
    return sum(issubclass(type(each), BoundedProtocol) for each in gc.get_objects())


_CUTS: Final = (b"", b"UpGrade:", b"Grade:", b": h2c", b"\r\n\r\n")
"""Places where a head is split in two."""


@pytest.mark.parametrize("ws", ["none", "auto"])
def test_a_body_behind_an_offer_of_another_protocol_is_never_taken_for_a_request(
    ws: Literal["auto", "none"],
) -> None:
    body = _GET % b"quick"
    head = _POST_UPGRADED % (b"refuse", len(body))
    with _serving(_IDLE_SECONDS, ws) as port, ExitStack() as stack:
        clients = {cut: stack.enter_context(_connected(port)) for cut in _CUTS}
        ends = {cut: head.index(cut) if cut else len(head) for cut in _CUTS}
        _sent_in_turn((clients[cut], head[:end]) for cut, end in ends.items())
        _sent_in_turn((clients[cut], head[end:]) for cut, end in ends.items())
        answers = {cut: client.recv(65_536) for cut, client in clients.items()}
        for client in clients.values():
            with suppress(ConnectionError):
                client.sendall(body)
        for cut, client in clients.items():
            answers[cut] += until_closed(client)
    assert {cut: each.count(b"HTTP/1.1") for cut, each in answers.items()} == dict.fromkeys(_CUTS, 1)
    assert {cut: each[:12] for cut, each in answers.items()} == dict.fromkeys(_CUTS, b"HTTP/1.1 401")


def _sent_in_turn(parts: Iterable[tuple[socket.socket, bytes]]) -> None:
    """Send parts of a request, and give the server time to read each."""
    for client, part in parts:
        client.sendall(part)
    time.sleep(_PART_SECONDS)


@pytest.mark.parametrize(
    "head",
    [
        _POST_UPGRADED.replace(b"\r\n\r\n", b"\r\nupgrade: h2c\r\n\r\n") % (b"echo", 1),
        b"CONNECT quick:1 HTTP/1.1\r\nhost: quick:1\r\n\r\n",
    ],
    ids=["offered twice", "a tunnel"],
)
def test_a_request_that_leaves_the_protocol_ends_its_connection(port: int, head: bytes) -> None:
    with _connected(port) as client:
        client.sendall(head + _GET % b"quick")
        answers = until_closed(client)
    assert answers.startswith(b"HTTP/1.1 400")
    assert answers.count(b"HTTP/1.1") == 1


def test_a_body_that_reads_like_an_offer_arrives_as_it_was_sent() -> None:
    body = b"upgrade: h2c\r\n"
    head = _POST % (b"echo", len(body))
    with _serving(_IDLE_SECONDS, "none") as port, _connected(port) as client:
        for part in (head[:-2], head[-2:] + body):
            _sent_in_turn([(client, part)])
        assert client.recv(65_536).endswith(b"\r\n\r\n" + body)
