"""A load test of one local side: the warm-up's load for half a minute, with the rate and p95 that it had."""

import threading
import time
from pathlib import Path
from typing import Final

import msgspec

from pipelines.control.deploy.backend import BackendError, Rating
from scripts.local.side import Side
from scripts.local.warmup.warmup import WarmUpLimits, warm_up
from scripts.local.whole_file import write_whole
from shared.contracts.topics import Topic
from shared.kafka.admin import admin_client
from shared.kafka.consumer_lag import topic_ends
from shared.runtime.logging import get_logger

_SECONDS: Final = 30.0
_log = get_logger(__name__)


class LoadTest:
    """The load tests of one side; belongs to one thread."""

    def __init__(self, side: Side, folder: Path) -> None:
        """The newest rating is kept in `folder`."""
        self._side, self._file = side, folder / "rating.json"
        self._thread: threading.Thread | None = None
        self._failure: Exception | None = None
        self._warned = False

    def rating(self) -> Rating | None:
        """The newest one; None if there was none.

        Raises:
            BackendError: if the last load test failed; the next one starts afresh.
        """
        failure, self._failure = self._failure, None
        if failure is not None:
            raise BackendError(f"the load test of {self._side.name} failed: {failure}") from failure
        try:
            return msgspec.json.decode(self._file.read_bytes(), type=Rating)
        except FileNotFoundError:
            return None
        except msgspec.DecodeError as error:
            self._warn(error)
            return None

    def _warn(self, error: Exception) -> None:
        """Once: a rating is asked for at every look."""
        if not self._warned:
            said = {"side": self._side.name, "file": str(self._file), "error": str(error)}
            _log.warning("a rating cannot be read, and counts as none until the next load test", extra=said)
        self._warned = True

    def begin(self, version: str) -> None:
        """Begin one of a version, unless one is running."""
        if self._thread is None or not self._thread.is_alive():
            self._thread = threading.Thread(target=self._work, args=(version,), daemon=True)
            self._thread.start()

    def _work(self, version: str) -> None:
        try:
            write_whole(self._file, msgspec.json.encode(self._measured(version)))
        except Exception as error:  # the next question is answered with it
            _log.warning("a load test failed", extra={"side": self._side.name, "error": str(error)})
            self._failure = error

    def _measured(self, version: str) -> Rating:
        admin = admin_client(self._side.bootstrap)
        began, before = time.monotonic(), topic_ends(admin)[Topic.RECEIPTS]
        events = topic_ends(admin)[Topic.EVENTS]
        p95 = warm_up(self._side, lambda _: None, WarmUpLimits(seconds=_SECONDS))
        after, seconds = topic_ends(admin), time.monotonic() - began
        if after[Topic.RECEIPTS] == before:
            raise BackendError("nothing was delivered")
        return Rating(
            version=version,
            events_per_second=(after[Topic.EVENTS] - events) / seconds,
            p95_ms=float(p95),
            at_ms=int(time.time() * 1_000),
        )
