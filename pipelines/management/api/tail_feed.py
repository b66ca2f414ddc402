"""Feeds live tails: one consumer of `outbound` for all of a process, there only while a tail is open."""

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from functools import partial
from http import HTTPStatus
from typing import Final, cast

from confluent_kafka import Message
from msgspec import Struct

from pipelines.management.api.leaving import recognised
from pipelines.management.api.problems import NotBegunError, ProblemError, no_brokers
from shared.contracts import headers as h
from shared.contracts.headers import Headers
from shared.contracts.topics import Topic
from shared.kafka.new_records import NewRecords
from shared.runtime.token_bucket import TokenBucket

RATE: Final = 10
"""Events a second that a tail shows; the others are only counted."""

MOST_BYTES: Final = 64 * 1024
"""Largest event that is shown whole; of a larger one only the fields of a list are shown."""

MOST_OF_TENANT: Final = 3
MOST_OF_PROCESS: Final = 20
_MOST_WAITING: Final = 20
_CLIENT: Final = "hifi-tail"

Watched = tuple[str, str]
"""Tenant and pipe."""


class TailRecord(Struct, frozen=True, kw_only=True):
    """A record of `outbound`."""

    at_ms: int
    """When it was written, epoch milliseconds."""

    value: bytes | None
    texts: Mapping[str, str]
    size: int
    """Bytes; above MOST_BYTES `value` is left out."""


class Watcher:
    """One tail: what it still has to show. Filled by the consumer's thread, emptied by an event loop."""

    def __init__(self, watched: Watched, monotonic: Callable[[], float] = time.monotonic) -> None:
        self.watched = watched
        self.left_out = 0
        """Events that were not and will not be shown."""

        self.uncounted = False
        """Whether there may be more that were not even counted."""

        self._waiting: deque[TailRecord] = deque()
        self._bucket = TokenBucket(RATE, 1.0)
        self._monotonic = monotonic
        self._loop = asyncio.get_running_loop()
        self._news = asyncio.Event()
        self._lock = threading.Lock()

    def offer(self, message: Message, texts: Mapping[str, str]) -> None:
        """Take a record if the rate and the reader's pace allow it, else count it."""
        now = self._monotonic()
        with self._lock:
            if len(self._waiting) >= _MOST_WAITING or self._bucket.wait(now, 1):
                self.left_out += 1
                return
            self._bucket = self._bucket.after(1, now)
            self._waiting.append(_record(message, texts))
        self._loop.call_soon_threadsafe(self._news.set)

    async def next(self, seconds: float) -> TailRecord | None:
        """The next record; None if none comes in time."""
        try:
            async with asyncio.timeout(seconds):
                while not self._waiting:
                    self._news.clear()
                    if not self._waiting:
                        await self._news.wait()
        except TimeoutError:
            return None
        with self._lock:
            return self._waiting.popleft()


class TailFeed:
    """May be used from any thread; its watchers belong to the event loop that joins."""

    def __init__(self, bootstrap: str) -> None:
        """`bootstrap` is the side's brokers; empty if this API has none."""
        self._bootstrap = bootstrap
        self._lock = threading.Lock()
        self._watchers: Mapping[Watched, tuple[Watcher, ...]] = {}
        self._reader: NewRecords | None = None
        self._ended: NewRecords | None = None
        self._readers = 0

    def __len__(self) -> int:
        """How many watch."""
        return sum(map(len, self._watchers.values()))

    @property
    def follows(self) -> bool:
        """Whether every record that is written now reaches its watchers."""
        reader = self._reader
        return reader is not None and reader.loaded

    def join(self, tenant: str, pipe: str) -> Watcher:
        """Watch a pipe from now on, until `leave`.

        Raises:
            ProblemError: 429 if the tenant, 503 if the process has too many, or there are no brokers.
        """
        if not self._bootstrap:
            raise no_brokers()
        watcher = Watcher((tenant, pipe))
        with self._lock:
            self._refuse_too_many(tenant)
            if self._reader is None:
                self._start()
            others = self._watchers.get(watcher.watched, ())
            self._watchers = {**self._watchers, watcher.watched: (*others, watcher)}
        return watcher

    def leave(self, watcher: Watcher) -> None:
        """Watch no more; with the last watcher the consumer ends."""
        with self._lock:
            others = tuple(each for each in self._watchers.get(watcher.watched, ()) if each is not watcher)
            left = {watched: each for watched, each in self._watchers.items() if watched != watcher.watched}
            self._watchers = left | ({watcher.watched: others} if others else {})
            if not self._watchers and self._reader is not None:
                self._reader.end()
                self._reader, self._ended = None, self._reader

    def close(self) -> None:
        """Wait until the consumer of the last watcher has ended."""
        if self._ended is not None:
            self._ended.stop()

    def _refuse_too_many(self, tenant: str) -> None:
        if sum(len(each) for (whose, _), each in self._watchers.items() if whose == tenant) >= MOST_OF_TENANT:
            said = f"this tenant has {MOST_OF_TENANT} live tails open; close one"
            raise ProblemError(HTTPStatus.TOO_MANY_REQUESTS, said, headers={"Retry-After": "5"})
        if len(self) >= MOST_OF_PROCESS:
            said = "too many live tails are open on this server; try again"
            raise NotBegunError(said, retry_seconds=5)

    def _start(self) -> None:
        self._readers += 1
        self._reader = NewRecords(
            bootstrap=self._bootstrap,
            client_id=_CLIENT,
            topic=Topic.OUTBOUND,
            take=partial(self._take, self._readers),
            skipped=self._skipped,
        ).start()

    def _take(self, reader: int, messages: list[Message]) -> None:
        watchers = self._watchers  # replaced, never changed
        if reader != self._readers:
            return  # it is ending, and another one has begun
        for message in messages:
            headers = cast(Headers, message.headers() or [])
            texts = {name: value for name, value in headers if name in (h.TENANT, h.PIPE)}
            found = watchers.get((_text(texts.get(h.TENANT)), _text(texts.get(h.PIPE))))
            if found:
                whole = {name: _text(value) for name, value in headers if value is not None}
                for watcher in found:
                    watcher.offer(message, whole)

    def _skipped(self) -> None:
        for watchers in self._watchers.values():
            for watcher in watchers:
                watcher.uncounted = True


def _record(message: Message, texts: Mapping[str, str]) -> TailRecord:
    value, at_ms = message.value(), message.timestamp()[1]
    size = len(value or b"") + sum(len(name) + len(text) for name, text in texts.items())
    if size > MOST_BYTES:
        return TailRecord(at_ms=at_ms, value=None, texts=recognised(texts), size=size)
    return TailRecord(at_ms=at_ms, value=value, texts=texts, size=size)


def _text(value: bytes | None) -> str:
    return (value or b"").decode(errors="replace")
