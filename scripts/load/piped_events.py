"""Events of a pipe, sent as they come: a thread reads them, so that nothing waits for a pause in it."""

import queue
import threading
import time
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Final

from scripts.load.event_files import BODY_BYTES, content_type_of, request_body
from scripts.load.event_source import PLAIN, EventBatch

_READ_AHEAD: Final = 1_000
_LINGER_SECONDS: Final = 0.1
"""How long an event waits for others of its request."""


class PipedEvents:
    """Unchanged events, each sent once. A part of a request is due when its first event has waited."""

    def __init__(self, events: Iterator[bytes], monotonic: Callable[[], float] = time.monotonic) -> None:
        """Wait for the first event, which decides whether all are CloudEvents; then read in a daemon thread.

        Raises:
            FileError: as `raw_events`.
        """
        self._waiting = list(islice(events, 1))
        self.content_type = content_type_of(self._waiting[0]) if self._waiting else PLAIN
        self.problem: Exception | None = None
        """Why the input could not be read to its end."""

        self._bytes, self._since = sum(map(len, self._waiting)), monotonic()
        self._monotonic = monotonic
        self._read: queue.Queue[bytes | None] = queue.Queue(_READ_AHEAD)
        self._ended = False
        threading.Thread(target=self._run, args=(events,), name="reading", daemon=True).start()

    def _run(self, events: Iterator[bytes]) -> None:
        try:
            for event in events:
                self._read.put(event)
        except Exception as error:  # handed on
            self.problem = error
        self._read.put(None)

    def take(self, count: int, time_ms: int) -> EventBatch | None:  # noqa: ARG002 the events keep their times
        """The next events; fewer where they are large or the input pauses, none if there are none yet."""
        while not self._ended and not self._full(count):
            try:
                event = self._read.get_nowait()
            except queue.Empty:
                break
            self._add(event)
        if self._ended and not self._waiting:
            return None
        waited = bool(self._waiting) and self._monotonic() - self._since >= _LINGER_SECONDS
        return self._batch(count) if self._ended or self._full(count) or waited else _NOTHING

    def _full(self, count: int) -> bool:
        return len(self._waiting) >= count or self._bytes >= BODY_BYTES

    def _add(self, event: bytes | None) -> None:
        if event is None:
            self._ended = True
            return
        if not self._waiting:
            self._since = self._monotonic()
        self._waiting.append(event)
        self._bytes += len(event)

    def _batch(self, count: int) -> EventBatch:
        taken, self._waiting = self._waiting[:count], self._waiting[count:]
        self._bytes = sum(map(len, self._waiting))
        return EventBatch(ids=[], body=request_body(taken, self.content_type), count=len(taken))


_NOTHING: Final = EventBatch(ids=[], body=b"", count=0)
