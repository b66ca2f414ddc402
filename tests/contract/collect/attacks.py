"""`python -m tests.contract.collect.attacks NAME PORT SHARE`: one attack on collect, as a process.

SHARE, up to 1, scales the attack. Floods ignore it: they last until collect ends them.
"""

import gzip
import resource
import socket
import sys
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from typing import Final

import zstandard

from shared.contracts.limits import MAX_DEPTH
from tests.contract.collect.process import BATCH, EVENT, KEY
from tests.harness.service_process import HOST

MIB: Final = 1024 * 1024
FLOOD_BYTES: Final = 400 * MIB
_PIPELINED_BYTES: Final = 8 * MIB
_LEVELS: Final = MAX_DEPTH - 2
_ANSWER_SECONDS: Final = 10
_UNKNOWN: Final = "no-such-key"


def _bomb() -> bytes:
    """A gzip body of 8 MiB without its end, so that collect waits for the rest."""
    return gzip.compress(b" " * (8 * MIB - 1000))[:-8]


def _open_block() -> bytes:
    """One block of an unfinished chunked body: 16 KB of an event."""
    stream = zstandard.ZstdCompressor().compressobj()
    text = b'{"data":"' + b"".join(b"%x" % (n * n) for n in range(2_600))
    return stream.compress(text) + stream.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK)


def _deep_event() -> bytes:
    begin = b'{"specversion":"1.0","id":"deep","source":"/test","type":"t","data":['
    group = b"[" * _LEVELS + b"]" * _LEVELS
    return begin + b",".join([group] * 255) + b"]}"


def head(path: str, key: str, content_type: str, *more: str) -> bytes:
    lines = (
        f"POST {path} HTTP/1.1",
        "host: x",
        f"content-type: {content_type}",
        f"authorization: Bearer {key}",
        *more,
    )
    return "".join(line + "\r\n" for line in lines).encode() + b"\r\n"


def flood(port: int, first: bytes, block: bytes) -> None:
    """Send `first`, then blocks: the server ends the connection long before 400 MiB are sent."""
    reply, sent = b"", 0
    with socket.create_connection((HOST, port), timeout=90) as connection:
        with suppress(OSError):
            connection.sendall(first)
            while sent < FLOOD_BYTES:
                connection.sendall(block)
                sent += len(block)
        with suppress(OSError):
            reply = connection.recv(4096)
    assert sent < FLOOD_BYTES
    # a client that keeps sending may lose the response to the reset that follows
    assert reply[9:12] in (b"", b"401", b"405", b"431"), reply


def trailers(path: str, key: str) -> Callable[[int, float], None]:
    """400 MiB of trailers on one connection."""
    begin = head(path, key, EVENT, "transfer-encoding: chunked") + b"1\r\n{\r\n0\r\n"
    return lambda port, _: flood(port, begin, b"x-trailer: " + b"y" * 60_000 + b"\r\n")


def one_trailer(port: int, _: float) -> None:
    """One trailer that never ends."""
    begin = head("/v1/events", KEY, EVENT, "transfer-encoding: chunked") + b"1\r\n{\r\n0\r\nx-trailer: "
    flood(port, begin, b"y" * 65_536)


def headers(port: int, _: float) -> None:
    """Headers without an end."""
    flood(port, b"POST /v1/events HTTP/1.1\r\nhost: x\r\n", b"x-header: y\r\n" * 5_000)


def one_header(port: int, _: float) -> None:
    """One header that never ends."""
    flood(port, b"GET /healthz HTTP/1.1\r\nhost: x\r\nx-header: ", b"y" * 65_536)


def one_content_type(port: int, share: float) -> None:
    """20 rounds of 25 concurrent requests with an open quote in a content type of 60,000 characters."""
    request = head("/v1/events", KEY, 'application/json;a="' + ";" * 60_000, "content-length: 2") + b"{}"
    for _ in range(round(share * 20)):
        with ExitStack() as held:
            connections = [held.enter_context(_connected(port)) for _ in range(25)]
            for connection in connections:
                connection.sendall(request)
            assert {connection.recv(4096)[9:12] for connection in connections} == {b"415"}


def extensions(port: int, _: float) -> None:
    """A chunk extension that never ends."""
    begin = head("/v1/events", KEY, EVENT, "transfer-encoding: chunked") + b"1;x="
    flood(port, begin, b"y" * 65_536)


def bombs(port: int, share: float) -> None:
    """150 connections, each of 8 KB that become 8 MiB, without their end."""
    begin = head("/v1/events", KEY, EVENT, "content-encoding: gzip", "content-length: 100000") + _bomb()
    _hold(port, begin, round(share * 150))


def slow_posts(port: int, share: float) -> None:
    """2,000 requests of 8 MB that stop after the first 200 KB."""
    begin = head("/v1/events", KEY, EVENT, "content-length: 8000000") + b" " * 200_000
    _hold(port, begin, round(share * 2_000))


def too_many_events(port: int, share: float) -> None:
    """40 arrays of 4 million events, which compress to 8 KB each."""
    body = gzip.compress(b"[" + b"1," * 4_000_000 + b"1]")
    begin = head("/v1/events", KEY, BATCH, "content-encoding: gzip", f"content-length: {len(body)}")
    for _ in range(round(share * 40)):
        assert _reply(port, begin + body)[9:12] == b"413"


def deep_events(port: int, share: float) -> None:
    """Four bodies of 120 events of 64 KiB that are nested as deep as they may be."""
    body = b"[" + b",".join([_deep_event()] * 120) + b"]"
    begin = head("/v1/events", KEY, BATCH, f"content-length: {len(body)}")
    for _ in range(round(share * 4)):
        assert _reply(port, begin + body)[9:12] == b"202"


def places(port: int, _: float) -> None:
    """4,200 requests of which one byte has arrived, so that no place is left."""
    _take_places(port, head("/v1/events", KEY, EVENT, "content-length: 100") + b"{")


def zstd_places(port: int, _: float) -> None:
    """4,200 requests with the beginning of a zstd body; collect keeps a decompressor for each."""
    begin = head("/v1/events", KEY, EVENT, "content-encoding: zstd", "content-length: 100000")
    _take_places(port, begin + _open_block())


def unread_answers(port: int, share: float) -> None:
    """400 connections with six requests each; their answers of a megabyte are not read.

    The kernel takes four of each, and one costs collect 25 ms.
    """
    body = gzip.compress(b"[" + b"0," * 9_999 + b"0]")
    begin = head("/v1/events", KEY, BATCH, "content-encoding: gzip", f"content-length: {len(body)}")
    count = round(share * 400)
    _hold(port, 6 * (begin + body), count, seconds=0.2 * count, receive_bytes=4_096)


def _take_places(port: int, begin: bytes) -> None:
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    _hold(port, begin, 4_200)


def pipelined_requests(port: int, _: float) -> None:
    """One connection sends up to 8 MiB of 25-byte requests without a key, and reads their answers."""
    block = b"GET /healthz HTTP/1.1\r\n\r\n" * 2_600
    with socket.create_connection((HOST, port), timeout=90) as connection:
        reader = threading.Thread(target=_read_all, args=(connection,))
        reader.start()
        with suppress(OSError):
            for _sent in range(0, _PIPELINED_BYTES, len(block)):
                connection.sendall(block)
            connection.shutdown(socket.SHUT_WR)
        reader.join(_ANSWER_SECONDS)


def many_pipelined_requests(port: int, _: float) -> None:
    """600 connections with 500 requests each, without a key, whose answers are not read."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    _hold(port, 500 * b"GET /openapi.json HTTP/1.1\r\n\r\n", 600, receive_bytes=4_096)


def _read_all(connection: socket.socket) -> None:
    with suppress(OSError):
        while connection.recv(65_536):
            """Answers are of no interest."""


def _connected(port: int) -> socket.socket:
    return socket.create_connection((HOST, port), timeout=120)


def _reply(port: int, request: bytes) -> bytes:
    with _connected(port) as connection:
        connection.sendall(request)
        return connection.recv(4096)


def _hold(
    port: int, begin: bytes, count: int, *, seconds: float = 3, receive_bytes: int | None = None
) -> None:
    """Open connections that send `begin` and read nothing; the kernel takes `receive_bytes` for each."""
    with ExitStack() as held:
        for _ in range(count):
            connection = held.enter_context(socket.socket())
            connection.settimeout(90)
            if receive_bytes is not None:
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
            connection.connect((HOST, port))
            with suppress(OSError):
                connection.sendall(begin)
        time.sleep(seconds)


ATTACKS: Final[Mapping[str, Callable[[int, float], None]]] = {
    "trailers without a key on /healthz": trailers("/healthz", _UNKNOWN),
    "trailers without a key": trailers("/v1/events", _UNKNOWN),
    "trailers with a key": trailers("/v1/events", KEY),
    "one trailer": one_trailer,
    "headers": headers,
    "one header": one_header,
    "one content type": one_content_type,
    "chunk extensions": extensions,
    "gzip bombs": bombs,
    "slow posts": slow_posts,
    "too many events": too_many_events,
    "deep events": deep_events,
    "every place": places,
    "zstd places": zstd_places,
    "unread answers": unread_answers,
    "pipelined requests": pipelined_requests,
    "many pipelined requests": many_pipelined_requests,
}


if __name__ == "__main__":
    ATTACKS[sys.argv[1]](int(sys.argv[2]), float(sys.argv[3]))
