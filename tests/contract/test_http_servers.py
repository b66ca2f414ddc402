"""Every HTTP server of hifi limits the heads of requests."""

import asyncio
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress

import pytest
from fastapi import FastAPI
from prometheus_client import CollectorRegistry

from pipelines.control.canary.receiver import receiver
from pipelines.control.observe.api.http_server import served
from shared.runtime.health import health_served

Server = Callable[[], AbstractContextManager[int]]
_HOST = "127.0.0.1"
_FLOOD_BYTES = 64 * 1024 * 1024
_RESET = struct.pack("ii", 1, 0)
"""Makes a close reset the connection."""


def _uvicorn() -> AbstractContextManager[int]:
    """collect, observe and the console share this function."""
    app = FastAPI()
    app.get("/healthz")(lambda: {"alive": True})
    return served(app, _HOST, 0)


def _health() -> AbstractContextManager[int]:
    """The health server of retry, trace, audit and the Spark drivers."""
    return health_served(_HOST, 0, dict, CollectorRegistry())


@contextmanager
def _canary() -> Iterator[int]:
    loop, ports, ended = asyncio.new_event_loop(), asyncio.Queue[int](), asyncio.Event()

    async def serve() -> None:
        def ignore(*_: object) -> None:
            """Accept an event or a pause; no test sends one."""

        registry = CollectorRegistry()
        async with receiver(
            _HOST, 0, on_event=ignore, on_pause=ignore, report=dict, registry=registry
        ) as port:
            ports.put_nowait(port)
            await ended.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),))
    thread.start()
    try:
        yield asyncio.run_coroutine_threadsafe(ports.get(), loop).result(60)
    finally:
        loop.call_soon_threadsafe(ended.set)
        thread.join()
        loop.close()


_SERVERS: dict[str, Server] = {"uvicorn": _uvicorn, "health": _health, "canary": _canary}
_HEAD = b"GET /healthz HTTP/1.1\r\nhost: x\r\n"
_CHUNKED = b"POST /webhook HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n"
_FLOODS: dict[str, tuple[bytes, bytes]] = {
    "headers": (_HEAD, b"x-header: y\r\n" * 5_000),
    "one header": (_HEAD + b"x-header: ", b"y" * 65_536),
    "target": (b"GET /", b"y" * 65_536),
    "trailers": (_CHUNKED + b"1\r\n{\r\n0\r\n", b"x-trailer: y\r\n" * 5_000),
    "one trailer": (_CHUNKED + b"1\r\n{\r\n0\r\nx-trailer: ", b"y" * 65_536),
    "requests": (b"", b"GET /healthz HTTP/1.1\r\n\r\n" * 2_600),
}


@pytest.mark.parametrize("flood", _FLOODS)
@pytest.mark.parametrize("server", _SERVERS)
def test_a_head_or_trailers_without_end_are_cut_off(server: str, flood: str) -> None:
    first, block = _FLOODS[flood]
    with _SERVERS[server]() as port:
        sent = 0
        with socket.create_connection((_HOST, port), timeout=60) as connection, suppress(OSError):
            connection.sendall(first)
            while sent < _FLOOD_BYTES:
                connection.sendall(block)
                sent += len(block)
        assert sent < _FLOOD_BYTES
        assert _answer(port, b"GET /healthz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n") == 200


@pytest.mark.parametrize(("size", "status"), [(60_000, 200), (70_000, 431)])
def test_a_head_up_to_the_bound_is_served_and_one_beyond_is_431(size: int, status: int) -> None:
    lines = b"".join(b"x-%d: %b\r\n" % (n, b"y" * 5_000) for n in range(size // 5_000))
    for server in (_uvicorn, _health):
        with server() as port:
            assert _answer(port, _HEAD + lines + b"connection: close\r\n\r\n") == status


def test_pipelined_requests_behind_a_large_body_are_all_answered() -> None:
    body = b"POST /x HTTP/1.1\r\nhost: x\r\ncontent-length: 200000\r\n\r\n" + b"y" * 200_000
    gets = (_HEAD + b"\r\n") * 499 + _HEAD + b"connection: close\r\n\r\n"
    with _uvicorn() as port, socket.create_connection((_HOST, port), timeout=60) as connection:
        connection.sendall(body + gets)
        received = b""
        while piece := connection.recv(65_536):
            received += piece
    assert received.count(b"HTTP/1.1 200") == 500


def test_a_connection_with_too_many_requests_that_wait_is_dropped_and_another_is_served() -> None:
    last = _HEAD + b"connection: close\r\n\r\n"
    with _uvicorn() as port, socket.create_connection((_HOST, port), timeout=60) as connection:
        received = b""
        with suppress(OSError):
            connection.sendall(b"GET /healthz HTTP/1.1\r\n\r\n" * 6_999 + last)
            while piece := connection.recv(65_536):
                received += piece
        assert received.count(b"HTTP/1.1 200") <= 512
        assert _answer(port, last) == 200


@pytest.mark.parametrize("server", _SERVERS)
def test_a_client_that_goes_away_leaves_no_line_that_is_not_json(
    server: str, capfd: pytest.CaptureFixture[str]
) -> None:
    with _SERVERS[server]() as port:
        for _ in range(5):
            with socket.create_connection((_HOST, port), timeout=60) as connection:
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
                connection.sendall(_HEAD)
        assert _answer(port, _HEAD + b"connection: close\r\n\r\n") == 200
    assert not capfd.readouterr().err


_UNREADABLE_TYPES = {
    "parts": "multipart/mixed; a*=1; a*0=2",
    "charset in parts": "text/plain; charset*=1; charset*0=2",
    "charset": "text/plain; charset=no-such-charset",
    "long": 'multipart/mixed; a="' + ";" * 8_000,
}


@pytest.mark.parametrize("server", _SERVERS)
@pytest.mark.parametrize("content_type", _UNREADABLE_TYPES.values(), ids=_UNREADABLE_TYPES)
def test_a_content_type_that_cannot_be_read_is_no_error(
    server: str, content_type: str, capfd: pytest.CaptureFixture[str]
) -> None:
    header = f"content-type: {content_type}\r\nconnection: close\r\n\r\n".encode()
    with _SERVERS[server]() as port:
        assert _answer(port, _HEAD + header) == 200
        if server == "canary":
            head = b"PUT /pause HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\n"
            assert _answer(port, head + header + b"1") == 204
    assert not capfd.readouterr().err


def test_the_canary_waits_for_a_body_no_longer_than_its_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipelines.control.canary.receiver._BODY_SECONDS", 0.5)
    with _canary() as port:
        assert _answer(port, b"PUT /pause HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\n1") == 408


def _answer(port: int, request: bytes) -> int:
    with socket.create_connection((_HOST, port), timeout=60) as connection:
        connection.sendall(request)
        return int(connection.recv(65_536).split()[1])
