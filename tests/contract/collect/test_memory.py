"""Attacks on collect's memory: it stays bounded, and a good client does not notice."""

import gzip
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress

import psutil
import pytest

from tests.contract.collect.conftest import Start
from tests.contract.collect.process import HOST, KEY, CollectProcess, encoded, event

MIB = 1024 * 1024
GROWTH_BYTES = 150 * MIB
FLOOD_BYTES = 400 * MIB
P95_SECONDS = 0.2
_BOMB = gzip.compress(b" " * (8 * MIB - 1000))[:-8]  # without its end: the rest is awaited
_UNKNOWN = "no-such-key"


class Watched:
    """collect's memory and a good client's times, sampled until the block ends."""

    def __init__(self, process: CollectProcess) -> None:
        self._process = process
        self._memory = psutil.Process(process.process.pid)
        self.times: list[float] = []
        self.statuses: set[int] = set()
        self.peak = 0

    def rest(self) -> int:
        """Resident bytes now, after some requests."""
        for _ in range(50):
            assert self._process.post(encoded(event())).status == 202
        return int(self._memory.memory_info().rss)

    @contextmanager
    def sampled(self) -> Iterator[None]:
        stopping = threading.Event()
        threads = [threading.Thread(target=each, args=(stopping,)) for each in (self._ask, self._weigh)]
        for thread in threads:
            thread.start()
        try:
            yield
            time.sleep(2)
        finally:
            stopping.set()
            for thread in threads:
                thread.join()

    def _ask(self, stopping: threading.Event) -> None:
        while not stopping.wait(0.02):
            began = time.monotonic()
            self.statuses.add(self._process.post(encoded(event())).status)
            self.times.append(time.monotonic() - began)

    def _weigh(self, stopping: threading.Event) -> None:
        while not stopping.wait(0.02):
            self.peak = max(self.peak, self._memory.memory_info().rss)

    def p95(self) -> float:
        """Seconds; since the last call."""
        times, self.times = sorted(self.times), []
        return times[int(0.95 * len(times))]


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
    """Send `first`, then blocks: the server ends the connection long before 400 MiB are out."""
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
    # a client that goes on to send may lose the reply to the reset that follows it
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
    """2,000 posts of 8 MB that stop after the first 200 KB."""
    begin = head("/v1/events", KEY, "content-length: 8000000") + b" " * 200_000
    _hold(port, begin, 2_000)


def _hold(port: int, begin: bytes, count: int) -> None:
    with ExitStack() as held:
        for _ in range(count):
            connection = held.enter_context(socket.create_connection((HOST, port), timeout=20))
            with suppress(OSError):
                connection.sendall(begin)
        time.sleep(3)


ATTACKS = {
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


@pytest.mark.parametrize("attack", ATTACKS)
def test_an_attack_on_memory_is_bounded_and_disturbs_no_good_client(start: Start, attack: str) -> None:
    process = start()
    watched = Watched(process)
    resting = watched.rest()
    with watched.sampled():
        pass
    calm = watched.p95()
    with watched.sampled():
        ATTACKS[attack](process.port)
    attacked, grown = watched.p95(), watched.peak - resting
    assert watched.statuses == {202}
    assert grown <= GROWTH_BYTES
    assert attacked <= max(
        P95_SECONDS, 4 * calm
    )  # a machine that is busy otherwise is slow without an attack
    assert process.request("GET", "/readyz").status == 200
