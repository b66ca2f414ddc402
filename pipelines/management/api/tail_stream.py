"""A live tail as server-sent events."""

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

from fastapi import Response
from starlette.types import Receive, Scope, Send

from pipelines.management.api.leaving import Leaving, named, withheld
from pipelines.management.api.tail_feed import MOST_BYTES, RATE, TailFeed, TailRecord, Watcher
from shared.contracts.documents import Pipe
from shared.contracts.live_tail import HEARTBEAT_SECONDS, TailEnd, TailMessage, encoded
from shared.dynamodb.client import StoreError
from shared.runtime.http_protocol import ABORT
from shared.runtime.logging import get_logger

_log = get_logger(__name__)
MOST_SECONDS: Final = 600.0
CHECK_SECONDS: Final = 1.0
"""How often token and pipe are looked at again: masks that change meanwhile apply from then on."""

_SEND_SECONDS: Final = 10.0
"""How long a reader may take none of what is sent."""

_REST: Final = 4
"""Times as long as masks and transform of an event took, a tail rests: it takes a fifth of a core at most."""

_POLL_SECONDS: Final = 0.05


class EndedError(Exception):
    """The tail ends."""

    def __init__(self, reason: TailEnd) -> None:
        super().__init__(reason)
        self.reason = reason


Check = Callable[[], Pipe]
"""Blocks; gives the pipe as it is now. Raises EndedError, or StoreError."""


class EventStream(Response):
    """Sends a tail until its time is over, its reader is gone or stalls, or its check fails."""

    media_type = "text/event-stream"

    def __init__(self, feed: TailFeed, watcher: Watcher, check: Check, workers: ThreadPoolExecutor) -> None:
        """Send a tail.

        Args:
            feed: which the watcher leaves in the end, however that comes.
            watcher: of the pipe.
            check: whether and how to go on.
            workers: apply masks and transforms.
        """
        super().__init__(headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"})
        del self.headers["content-length"]
        self._feed, self._watcher, self._check, self._workers = feed, watcher, check, workers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See ASGI."""
        sending = asyncio.ensure_future(self._sent(scope, send))
        gone = asyncio.ensure_future(_disconnected(receive))
        try:
            await asyncio.wait((sending, gone), return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._feed.leave(self._watcher)
            for task in (sending, gone):
                task.cancel()
            await asyncio.gather(sending, gone, return_exceptions=True)
        if not sending.cancelled():
            sending.result()

    async def _sent(self, scope: Scope, send: Send) -> None:
        try:
            async with asyncio.timeout(_SEND_SECONDS):
                await send(
                    {"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers}
                )
            await _Tail(self._feed, self._watcher, self._check, self._workers, send).run()
        except TimeoutError:
            _log.info("live tail ended: its reader does not read")
            scope["extensions"][ABORT]()


class _Tail:
    """The events of one tail. Every send raises TimeoutError if the reader stalls."""

    def __init__(
        self, feed: TailFeed, watcher: Watcher, check: Check, workers: ThreadPoolExecutor, send: Send
    ) -> None:
        self._feed, self._watcher, self._check, self._workers = feed, watcher, check, workers
        self._send = send
        self._pipe: Pipe | None = None
        self._leaving = Leaving(None)
        self._until = time.monotonic() + MOST_SECONDS
        self._checked = self._spoke = float("-inf")
        self._reported = (0, False)

    async def run(self) -> None:
        """Send events until the end, and the reason for it."""
        try:
            await self._look_again()
            await self._begin()
            while True:
                await self._turn()
        except EndedError as error:
            await self._event(TailMessage.END, {"reason": error.reason})
        except StoreError as error:
            _log.warning("live tail ended: the table cannot be used", extra={"error": str(error)})
            await self._event(TailMessage.END, {"reason": TailEnd.STORE})
        await self._put(b"", more=False)

    async def _begin(self) -> None:
        """Wait until nothing that is written from now on is missed."""
        while not self._feed.follows:
            await asyncio.sleep(_POLL_SECONDS)
            await self._look_again()
            await self._stay()
        left = max(0.0, self._until - time.monotonic())
        await self._event(
            TailMessage.START, {"pipe": self._watcher.watched[1], "rate": RATE, "seconds": round(left)}
        )

    async def _turn(self) -> None:
        await self._look_again()
        record = await self._watcher.next(CHECK_SECONDS)
        if record is not None:
            await self._event(TailMessage.EVENT, await self._shown(record))
        await self._stay()

    async def _look_again(self) -> None:
        now = time.monotonic()
        if now >= self._until:
            raise EndedError(TailEnd.TIME)
        if now - self._checked >= CHECK_SECONDS:
            pipe = await asyncio.to_thread(self._check)
            if pipe != self._pipe:
                self._pipe, self._leaving = pipe, Leaving(pipe)
            await self._report()
            self._checked = time.monotonic()

    async def _report(self) -> None:
        """Say how many events were left out, if there are more."""
        report = (self._watcher.left_out, self._watcher.uncounted)
        if report != self._reported:
            self._reported = report
            await self._event(TailMessage.LEFT_OUT, {"events": report[0], "uncounted": report[1]})

    async def _shown(self, record: TailRecord) -> dict[str, Any]:
        head = {"at_ms": record.at_ms, **named(record.texts)}
        if record.size > MOST_BYTES:
            said = f"too large: {record.size:,} bytes; a live tail shows events of at most {MOST_BYTES:,}"
            return head | withheld(said)
        began = time.monotonic()
        loop = asyncio.get_running_loop()
        shown = await loop.run_in_executor(self._workers, self._leaving.shown, record.value, record.texts)
        await asyncio.sleep(_REST * (time.monotonic() - began))
        return head | shown

    async def _stay(self) -> None:
        """A comment now and then, by which both ends and what is between know that the other is there."""
        if time.monotonic() - self._spoke > HEARTBEAT_SECONDS:
            await self._put(b":\n\n")

    async def _event(self, name: TailMessage, data: object) -> None:
        await self._put(encoded(name, data))

    async def _put(self, body: bytes, *, more: bool = True) -> None:
        self._spoke = time.monotonic()
        async with asyncio.timeout(_SEND_SECONDS):
            await self._send({"type": "http.response.body", "body": body, "more_body": more})


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
