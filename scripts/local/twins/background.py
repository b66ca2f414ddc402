"""One long piece of work at a time, in a thread; the newest wish replaces what is under way."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Final

from confluent_kafka import KafkaException
from rich.console import Console
from rich.text import Text

from scripts.local.progress import Progress, Say
from shared.runtime.errors import OperatorError
from shared.runtime.logging import get_logger

_log = get_logger(__name__)
_REPORT_SECONDS: Final = 10.0


class CancelledError(Exception):
    """Other work is wanted in the place of this one."""


class _Steps(Progress):
    """Hands reports on and logs lines; each report is a moment at which work can be cancelled."""

    def __init__(self, cancelled: threading.Event, report: Say) -> None:
        super().__init__(Console(quiet=True))
        self._cancelled, self._report = cancelled, report

    @contextmanager
    def step(self, text: str) -> Iterator[Say]:
        """Raises CancelledError, at each report too."""
        self._check(text)
        yield self._check

    def say(self, text: str) -> None:
        """Log a line."""
        _log.info(Text.from_markup(text).plain)

    def _check(self, text: str) -> None:
        if self._cancelled.is_set():
            raise CancelledError
        self._report(text)


Work = Callable[[Progress], None]
"""Gets the progress to report to: a report may raise CancelledError."""


class Background:
    """Does one thing at a time. May be used from any thread."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self.failure = ""
        """Why the last work failed, in words; empty if it did not, or that is forgotten."""

        self.said = ""
        """A report of the work that is under way, some seconds old; empty if none is."""

        self._monotonic, self._said_at = monotonic, 0.0
        self._lock = threading.Lock()
        self._cancelled = threading.Event()
        self._now = ""
        self._next: tuple[str, Work] | None = None

    @property
    def busy(self) -> bool:
        """Whether something is under way."""
        return bool(self._now)

    def want(self, name: str, work: Work) -> None:
        """Do something, unless that is under way already; what else is under way is cancelled."""
        with self._lock:
            if self._now == name and self._next is None:
                return
            if self._now:
                self._next = (name, work)
                self._cancelled.set()
                return
            self.failure = ""
            thread = threading.Thread(target=self._run, args=(work,), name=name, daemon=True)
            self._now = name
            try:
                thread.start()
            except RuntimeError as error:  # no thread to be had: the next wish finds nothing under way
                self._now, self.failure = "", f"{name}: {error}"

    def forget(self) -> None:
        """Forget why the last work failed, as that does not matter any more."""
        self.failure = ""

    def _run(self, work: Work) -> None:
        following: Work | None = work
        while following is not None:
            self._cancelled.clear()
            try:
                with suppress(CancelledError):
                    following(_Steps(self._cancelled, self._report))
            except (OperatorError, KafkaException, OSError) as error:
                self.failure = str(error)
            except Exception as error:
                _log.exception("failed for a reason that is not expected", extra={"work": self._now})
                self.failure = repr(error)
            following = self._advance()

    def _report(self, text: str) -> None:
        """Keep a report, unless a recent one is kept: what is read is written down with a release."""
        now = self._monotonic()
        if not self.said or now - self._said_at >= _REPORT_SECONDS:
            self.said, self._said_at = text, now

    def _advance(self) -> Work | None:
        with self._lock:
            self.said = ""
            if self._next is None:
                self._now = ""
                return None
            self._now, work = self._next
            self._next, self.failure = None, ""
            return work
