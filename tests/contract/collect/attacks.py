"""`python -m tests.contract.collect.attacks NAME PORT`: one attack on the memory of collect, as a process."""

import gzip
import socket
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from typing import Final

from tests.contract.collect.process import KEY
from tests.harness.service_process import HOST

MIB: Final = 1024 * 1024
FLOOD_BYTES: Final = 400 * MIB
_BOMB: Final = gzip.compress(b" " * (8 * MIB - 1000))[
    :-8
]  # without its end, so that collect waits for the rest
_UNKNOWN: Final = "no-such-key"


def head(path: str, key: str, *more: str) -> bytes:
    lines = (
        f"POST {path} HTTP/1.1",
        "host: x",
        "content-type: application/cloudevents+json",
        f"authorization: Bearer {key}",
        *more,
    )
    return "".join(line + "\r\n" for line in lines).encode() + b"\r\n"


def flood(port: int, first: bytes, block: bytes) -> None:
    """Send `first`, then blocks: the server ends the connection long before 400 MiB are sent."""
    reply, sent = b"", 0
    with socket.create_connection((HOST, port), timeout=20) as connection:
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


def trailers(path: str, key: str) -> Callable[[int], None]:
    """400 MiB of trailers on one connection."""
    begin = head(path, key, "transfer-encoding: chunked") + b"1\r\n{\r\n0\r\n"
    return lambda port: flood(port, begin, b"x-trailer: " + b"y" * 60_000 + b"\r\n")


def one_trailer(port: int) -> None:
    """One trailer that never ends."""
    begin = head("/v1/events", KEY, "transfer-encoding: chunked") + b"1\r\n{\r\n0\r\nx-trailer: "
    flood(port, begin, b"y" * 65_536)


def headers(port: int) -> None:
    """Headers without an end."""
    flood(port, b"POST /v1/events HTTP/1.1\r\nhost: x\r\n", b"x-header: y\r\n" * 5_000)


def one_header(port: int) -> None:
    """One header that never ends."""
    flood(port, b"GET /healthz HTTP/1.1\r\nhost: x\r\nx-header: ", b"y" * 65_536)


def extensions(port: int) -> None:
    """A chunk extension that never ends."""
    begin = head("/v1/events", KEY, "transfer-encoding: chunked") + b"1;x="
    flood(port, begin, b"y" * 65_536)


def bombs(port: int) -> None:
    """150 connections, each of 8 KB that become 8 MiB, without their end."""
    begin = head("/v1/events", KEY, "content-encoding: gzip", "content-length: 100000") + _BOMB
    _hold(port, begin, 150)


def slow_posts(port: int) -> None:
    """2,000 requests of 8 MB that stop after the first 200 KB."""
    begin = head("/v1/events", KEY, "content-length: 8000000") + b" " * 200_000
    _hold(port, begin, 2_000)


def _hold(port: int, begin: bytes, count: int) -> None:
    with ExitStack() as held:
        for _ in range(count):
            connection = held.enter_context(socket.create_connection((HOST, port), timeout=20))
            with suppress(OSError):
                connection.sendall(begin)
        time.sleep(3)


ATTACKS: Final[Mapping[str, Callable[[int], None]]] = {
    "trailers without a key on /healthz": trailers("/healthz", _UNKNOWN),
    "trailers without a key": trailers("/v1/events", _UNKNOWN),
    "trailers with a key": trailers("/v1/events", KEY),
    "one trailer": one_trailer,
    "headers": headers,
    "one header": one_header,
    "chunk extensions": extensions,
    "gzip bombs": bombs,
    "slow posts": slow_posts,
}


if __name__ == "__main__":
    ATTACKS[sys.argv[1]](int(sys.argv[2]))
