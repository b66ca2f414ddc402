"""Endless, slow or decompressing responses cost no more than their deadline."""

import asyncio
import gzip
import os
import select
import socket
import tracemalloc
import zlib
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress
from functools import partial
from itertools import islice, repeat
from typing import Final

import pytest

from pipelines.data.transmit.connectors.http import client
from pipelines.data.transmit.delivery.kafka_rows import Row
from shared.contracts.topics import Topic
from tests.contract.transmit_rig import AMPLE, Rig, receipts, records
from tests.harness.scripted_server import reply
from tests.unit.pipelines.data.transmit.transmit_events import flat_batch, row

TIMEOUT: Final = 0.25
"""Timeout of one try, seconds; AMPLE if an answer comes that must end the try."""

FLOOD_SECONDS: Final = 1.0
"""Timeout of a try whose response floods it, seconds: a receive buffer that grows has grown by then."""

DEADLINE: Final = 0.8
"""Deadline of a micro-batch that has no time for all its tries."""

MOST_MEMORY: Final = 4 * 1024 * 1024
"""Bytes of transmit and the server together: socket buffers, the head's limit, the 64 KiB of a body."""

MEMORY_EACH: Final = 512 * 1024
"""The same per request, averaged over many at once."""

OK: Final = b"HTTP/1.1 200 OK\r\n"
CHUNKED: Final = OK + b"Transfer-Encoding: chunked\r\n\r\n"
ZEROS: Final = bytes(32 * 1024 * 1024)

Stream = Callable[[], Iterator[bytes]]


def endless(start: bytes, more: bytes) -> Stream:
    def pieces() -> Iterator[bytes]:
        yield start
        yield from repeat(more)

    return pieces


NO_ANSWER: Final[dict[str, Stream]] = {
    "one header": endless(OK + b"X: ", b"y" * 4096),
    "one header name": endless(OK, b"y" * 4096),
    "folded header": endless(OK + b"X: a\r\n", b" b\r\n" * 1000),
    "many headers": endless(OK, b"X: y\r\n" * 1000),
    "many long headers": endless(OK, b"X: " + b"y" * 8000 + b"\r\n"),
    "status line": endless(b"HTTP/1.1 200 ", b"O" * 4096),
    "empty lines": endless(b"", b"\r\n" * 1000),
    "continue": endless(b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 100),
    "early hints": endless(b"", (b"HTTP/1.1 103 Early Hints\r\nLink: " + b"l" * 4000 + b"\r\n\r\n") * 10),
}
AN_ANSWER: Final[dict[str, Stream]] = {
    "chunks": endless(CHUNKED, b"1000\r\n" + b"x" * 4096 + b"\r\n"),
    "small chunks": endless(CHUNKED, b"1\r\nx\r\n" * 1000),
    "chunk extension": endless(CHUNKED + b"1;", b"x" * 4096),
    "chunk size": endless(CHUNKED, b"0" * 4096),
    "trailers": endless(CHUNKED + b"0\r\n", b"X: " + b"y" * 1000 + b"\r\n"),
    "until it closes": endless(OK + b"\r\n", b"x" * 4096),
    "promised length": endless(OK + b"Content-Length: 999999999999999999\r\n\r\n", b"x" * 4096),
}


@pytest.fixture(scope="module", autouse=True)
def _warm() -> None:
    """Deliver once before measuring: the first delivery imports and builds much."""
    first = Rig()
    first.server.answer("/", reply(200))
    first.pipe("p0", "/")
    first.deliver(flat_batch([row(0, pipe="p0")]))
    first.close()


def deliver(rig: Rig, events: int = 1, memory: int = MOST_MEMORY, deadline: float = AMPLE) -> list[Row]:
    """Event n through pipe n, in bounded memory."""
    tracemalloc.start()
    try:
        rows = rig.deliver(flat_batch([row(n, pipe=f"p{n}") for n in range(events)]), deadline=deadline)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < memory
    return rows


def speak(
    rig: Rig, stream: Stream, pause: float | None = None, number: int = 0, timeout: float = TIMEOUT
) -> None:
    """Make the server stream its answer to event `number`; with a pause, a byte at a time."""

    async def manner(_: bytes, writer: asyncio.StreamWriter) -> None:
        async for piece in paced(stream(), pause):
            writer.write(piece)
            await writer.drain()

    rig.server.manners[f"/{number}"] = manner
    rig.pipe(f"p{number}", f"/{number}", timeout_seconds=timeout)


async def paced(pieces: Iterator[bytes], pause: float | None) -> AsyncIterator[bytes]:
    """The pieces; with a pause, all but the first a byte at a time."""
    yield next(pieces)
    for piece in pieces:
        for part in [piece] if pause is None else [bytes([byte]) for byte in piece]:
            await asyncio.sleep(pause or 0)
            yield part


def ends_without_a_trace(rig: Rig) -> None:
    """Check that events ended although answers do not, and that every connection is closed."""
    assert rig.seconds < AMPLE, "the deadline"
    rig.wait_disconnected()


@pytest.mark.parametrize("name", NO_ANSWER)
def test_a_head_that_never_ends_is_given_up_in_time(rig: Rig, name: str) -> None:
    speak(rig, NO_ANSWER[name])
    (later,) = records(deliver(rig))
    assert later.topic == Topic.RETRY_IN_30S
    ends_without_a_trace(rig)


@pytest.mark.parametrize("name", ["continue", "early hints"])
def test_interim_responses_that_come_faster_than_they_are_read_take_little_memory(
    rig: Rig, name: str
) -> None:
    rig.server.manners["/0"] = partial(flood, b"".join(islice(NO_ANSWER[name](), 101)))
    rig.pipe("p0", "/0", timeout_seconds=FLOOD_SECONDS)
    (later,) = records(deliver(rig))
    assert later.topic == Topic.RETRY_IN_30S
    ends_without_a_trace(rig)


async def flood(text: bytes, _: bytes, writer: asyncio.StreamWriter) -> None:
    """Send without a pause, from a thread: the loop also reads, and would send only what it has read."""
    with socket.socket(fileno=os.dup(writer.get_extra_info("socket").fileno())) as own:
        await asyncio.to_thread(send_until_closed, own, text)


def send_until_closed(connection: socket.socket, text: bytes) -> None:
    with suppress(ConnectionError):
        while select.select([], [connection], [], AMPLE)[1]:
            connection.send(text)


@pytest.mark.parametrize("name", ["many headers", "status line", "continue"])
def test_a_head_that_comes_a_byte_at_a_time_ends_at_its_deadline(rig: Rig, name: str) -> None:
    speak(rig, NO_ANSWER[name], pause=0.01)
    rows = deliver(rig)
    assert [r.topic for r in records(rows)] == [Topic.RETRY_IN_30S]
    assert receipts(rows)[0].reason.startswith("timeout: ")
    ends_without_a_trace(rig)


@pytest.mark.parametrize("pause", [None, 0.01])
@pytest.mark.parametrize("name", AN_ANSWER)
def test_a_body_that_never_ends_does_not_unmake_its_status(rig: Rig, name: str, pause: float | None) -> None:
    speak(rig, AN_ANSWER[name], pause, timeout=AMPLE)
    (receipt,) = receipts(deliver(rig))
    assert (receipt.result, receipt.tries) == ("delivered", 1)
    ends_without_a_trace(rig)


def bomb(encoding: str) -> bytes:
    packed = gzip.compress(ZEROS) if encoding == "gzip" else zlib.compress(ZEROS)
    head = f"Content-Encoding: {encoding}\r\nContent-Length: {len(packed)}\r\n\r\n"
    return OK + head.encode() + packed


BOMBS: Final = {encoding: bomb(encoding) for encoding in ("gzip", "deflate", "gzip, gzip")}


@pytest.mark.parametrize("encoding", BOMBS)
def test_a_compressed_bomb_is_not_unpacked_and_none_was_asked_for(
    rig: Rig, encoding: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "DRAIN_SECONDS", AMPLE)
    speak(rig, lambda: iter([BOMBS[encoding]]), timeout=AMPLE)
    (receipt,) = receipts(deliver(rig))
    assert (receipt.result, receipt.tries) == ("delivered", 1)
    rig.deliver(flat_batch([row(1, pipe="p0")]))
    assert rig.server.connections == 1, "as it came it is short enough to be read to its end"
    assert b"accept-encoding: identity\r\n" in rig.server.heads[0].lower()


def test_an_answer_that_switches_protocols_is_a_failure(rig: Rig) -> None:
    rig.server.answer(
        "/", b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n" + reply(200)
    )
    rig.pipe("p0", "/", timeout_seconds=TIMEOUT)
    (later,) = records(deliver(rig))
    assert later.topic == Topic.RETRY_IN_30S
    ends_without_a_trace(rig)


def test_a_hundred_hostile_answers_at_once_leave_no_connection(rig: Rig) -> None:
    streams = [*NO_ANSWER.values(), *AN_ANSWER.values()]
    for number in range(100):
        speak(rig, streams[number % len(streams)], number=number)
    assert len(receipts(deliver(rig, 100, memory=100 * MEMORY_EACH, deadline=DEADLINE))) == 100
    ends_without_a_trace(rig)
