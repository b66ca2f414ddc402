"""Looks every two seconds at what observe knows already, and keeps the last day of it."""

import threading
from collections.abc import Callable, Iterator
from typing import Final

import msgspec

from pipelines.control.observe.dynamodb import Item, Store
from pipelines.control.observe.timeline.span_log import KEPT_MS, Key, SpanLog, key_of
from pipelines.control.observe.timeline.spans import Span, seen_ms
from shared.contracts.diamond.stability import Stability
from shared.contracts.timeline import ActivitySpan, HealthSpan, Timeline
from shared.dynamodb.activity_reader import Register
from shared.dynamodb.client import StoreError
from shared.runtime.clock import Clock, is_over
from shared.runtime.logging import get_logger

_log = get_logger(__name__)
_EVERY_SECONDS: Final = 2.0
_STOP_SECONDS: Final = 10.0
_WRITE_MS: Final = 60_000
"""How long the end of what goes on may be behind in the store."""

_KINDS: Final[dict[str, type[Span]]] = {"health": HealthSpan, "activity": ActivitySpan}
_PARTITION: Final = "timeline"


class TimelineRecorder:
    """`between` may be called from any thread."""

    def __init__(self, store: Store, register: Callable[[], Register | None], clock: Clock) -> None:
        """Record what `register` says, which must not wait."""
        self._store, self._register, self._clock = store, register, clock
        self._spans, self._lock = SpanLog(), threading.Lock()
        self._unwritten: dict[Key, Span] = {}
        self._written_ms = 0
        self._restored = False
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self, stability: Callable[[], Stability]) -> None:
        """Begin to record, with what `stability` says, which must not wait either."""
        self._thread = threading.Thread(target=self._run, args=(stability,), name="timeline", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the thread, with everything written if the store answers."""
        self._stopping.set()
        if self._thread is not None:
            self._thread.join(_STOP_SECONDS)

    def acted_since(self, oldest_ms: int) -> list[ActivitySpan]:
        """The spans of activities that former processes stored, if last seen at `oldest_ms` or later.

        Raises:
            StoreError: if the table cannot be read.
        """
        return [each for each in _stored(self._store, oldest_ms) if isinstance(each, ActivitySpan)]

    def between(self, first_ms: int, last_ms: int) -> Timeline:
        """The spans that overlap a time, epoch milliseconds; `last_ms` is not part of it."""
        with self._lock:
            return self._spans.between(first_ms, last_ms, self._clock())

    def _run(self, stability: Callable[[], Stability]) -> None:
        while not self._stopping.is_set():
            self._turn(stability)
            self._stopping.wait(_EVERY_SECONDS)
        self._write()

    def _turn(self, stability: Callable[[], Stability]) -> None:
        try:
            self._restored = self._restored or self._restore()
            if self._restored:
                self._look(stability())
        except Exception:  # the next turn may do, and without a thread nothing is recorded
            _log.exception("timeline not recorded: unexpected error; retrying")

    def _restore(self) -> bool:
        try:
            spans = list(_stored(self._store, self._clock() - KEPT_MS))
        except StoreError as error:
            _log.warning("timeline not read; retrying", extra={"error": str(error)})
            return False
        with self._lock:
            self._spans.restore(spans)
        return True

    def _look(self, found: Stability) -> None:
        register, now_ms = self._register(), self._clock()
        with self._lock:
            taken = self._spans.take(found, register.activities if register else None, now_ms)
        self._unwritten |= taken.spans
        if taken.news or is_over(self._written_ms, _WRITE_MS, now_ms):
            self._write()

    def _write(self) -> None:
        try:
            self._store.put([_item(each) for each in self._unwritten.values()])
        except StoreError as error:  # written with the next ones
            _log.warning("timeline not stored; retrying", extra={"error": str(error)})
            return
        self._unwritten, self._written_ms = {}, self._clock()


def _stored(store: Store, oldest_ms: int) -> Iterator[Span]:
    """Stored spans last seen at `oldest_ms` or later: the table may not have deleted older ones yet."""
    for item in store.query(_PARTITION):
        try:
            span = msgspec.msgpack.decode(item.body, type=_KINDS[item.sk.partition("/")[0]])
        except (msgspec.MsgspecError, KeyError) as error:
            _log.error(
                "stored span skipped: it cannot be decoded", extra={"id": item.sk, "error": str(error)}
            )
            continue
        if seen_ms(span) >= oldest_ms:
            yield span


def _item(span: Span) -> Item:
    """A span to be stored.

    Earlier versions left out the last part of the sort key: theirs are read, and one that goes on is stored
    once more.
    """
    kind = "health" if isinstance(span, HealthSpan) else "activity"
    from_ms, activity, what = key_of(span)
    expires_s = (seen_ms(span) + KEPT_MS) // 1_000
    return Item(
        _PARTITION, f"{kind}/{from_ms:015d}/{activity}/{what}", msgspec.msgpack.encode(span), expires_s
    )
