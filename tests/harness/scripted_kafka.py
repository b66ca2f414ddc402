"""A Kafka cluster that follows a script: it names as many brokers as it should, takes records or none, hangs.

Enough of the protocol for librdkafka's producer: versions, metadata (v1), produce (v3) and log-ins (PLAIN).
"""

import asyncio
import struct
from contextlib import suppress

from tests.harness.scripted_server import Loop, closed

_PRODUCE, _FETCH, _METADATA, _SASL, _VERSIONS, _LOGIN = 0, 1, 3, 17, 18, 36
_SPOKEN = (
    (_PRODUCE, 3, 3),
    (_FETCH, 4, 4),
    (_METADATA, 0, 1),
    (_SASL, 1, 1),
    (_VERSIONS, 0, 0),
    (_LOGIN, 0, 0),
)
"""Kinds of requests, first and last version; without FETCH librdkafka would send records without headers."""

_TOO_LARGE = 10
"""The error of a batch."""


class ScriptedKafka:
    """All its brokers have different loopback addresses and the same port."""

    def __init__(self, brokers: int = 1) -> None:
        """Listen on a free port; the cluster names `brokers` brokers."""
        self.brokers = brokers
        self.hangs = False
        """Whether it answers nothing."""

        self.too_large = False
        """Whether it refuses all records as too large."""

        self.brokers_then: int | None = None
        """How many it names on connections that are opened after it refused records; None: as before."""

        self.named: set[int] = set()
        """The numbers of brokers that it has named."""

        self.connections = 0
        """Those that are open."""

        self.metadata_asked = 0
        self.written = self.refused = 0
        """Requests with records that it has taken, or not."""

        self.logins: list[tuple[str, str]] = []
        """Users and passwords."""

        self._loop = Loop()
        self._server = self._loop.run(asyncio.start_server(self._serve, "127.0.0.1", 0))
        self.port = int(self._server.sockets[0].getsockname()[1])

    def close(self) -> None:
        """Listen no more."""
        self._loop.run(closed(self._server))
        self._loop.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        is_later = self.refused > 0
        with suppress(asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            while True:
                (size,) = struct.unpack(">i", await reader.readexactly(4))
                request = await reader.readexactly(size)
                if not self.hangs:
                    answer = request[4:8] + self._answer(request, is_later)
                    writer.write(struct.pack(">i", len(answer)) + answer)
        self.connections -= 1
        writer.transport.abort()

    def _answer(self, request: bytes, is_later: bool) -> bytes:
        kind, version = struct.unpack(">hh", request[:4])
        _, body = _text(request[8:])  # the client's name
        if kind == _VERSIONS:
            unknown = 0 if version == 0 else 35
            return struct.pack(">h", unknown) + _array([struct.pack(">hhh", *each) for each in _SPOKEN])
        if kind == _SASL:
            return b"\0\0" + _array([_packed(b"PLAIN")])
        if kind == _LOGIN:
            _, user, password = body[4:].decode().split("\0")
            self.logins.append((user, password))
            return b"\0\0" + b"\xff\xff" + struct.pack(">i", 0)
        if kind == _METADATA:
            self.metadata_asked += 1
            brokers = self.brokers if self.brokers_then is None or not is_later else self.brokers_then
            self.named.add(brokers)
            return self._metadata(body, version, brokers)
        assert kind == _PRODUCE, f"request {kind} is not in the script"
        self.written += not self.too_large
        self.refused += self.too_large
        return _written(body, _TOO_LARGE if self.too_large else 0)

    def _metadata(self, body: bytes, version: int, named: int) -> bytes:
        (count,), left = struct.unpack(">i", body[:4]), body[4:]
        topics = []
        for _ in range(max(0, count)):
            name, left = _text(left)
            leader = struct.pack(">hiii", 0, 0, 1, 1) + struct.pack(">iii", 1, 1, 1)
            topics.append(b"\0\0" + _packed(name) + b"\0" * version + _array([leader]))
        rack = b"\xff\xff" * version
        brokers = [
            struct.pack(">i", at + 1) + _packed(_address(at)) + struct.pack(">i", self.port) + rack
            for at in range(named)
        ]
        return _array(brokers) + struct.pack(">i", 1) * version + _array(topics)


def _address(at: int) -> bytes:
    return f"127.0.{at // 250}.{at % 250 + 1}".encode()


def _written(body: bytes, error: int) -> bytes:
    """The answer to one batch: the error, its offset, no time."""
    name, _ = _text(body[2 + 2 + 4 + 4 :])  # after no transaction, acks, timeout, and one topic
    partition = struct.pack(">ihqq", 0, error, 0, -1)
    return _array([_packed(name) + _array([partition])]) + struct.pack(">i", 0)


def _array(items: list[bytes]) -> bytes:
    return struct.pack(">i", len(items)) + b"".join(items)


def _packed(text: bytes) -> bytes:
    return struct.pack(">h", len(text)) + text


def _text(left: bytes) -> tuple[bytes, bytes]:
    """A text, and what follows it."""
    end = 2 + max(0, struct.unpack(">h", left[:2])[0])
    return left[2:end], left[end:]
