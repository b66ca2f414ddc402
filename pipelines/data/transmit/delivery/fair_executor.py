"""One thread for the work of many tenants: next comes the tenant that has had the least of its time.

In order of arrival, a tenant with many costly pieces of work would delay all others by the sum of them.
"""

import threading
from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Turn:
    tenant: str
    take: Callable[[], None]


def _take(work: Callable[[], T], result: Future[T]) -> None:
    """Do the work, unless its result is no longer wanted."""
    if not result.set_running_or_notify_cancel():
        return
    try:
        result.set_result(work())
    except BaseException as error:
        result.set_exception(error)


class FairExecutor:
    """Runs turns one after the other; those of one tenant in their order."""

    def __init__(self, name: str, monotonic: Callable[[], float]) -> None:
        """`name` is the thread's; `monotonic` a clock in seconds."""
        self._monotonic = monotonic
        self._waiting: list[_Turn] = []
        self._used: defaultdict[str, float] = defaultdict(float)
        """Seconds by tenant, since there was last nothing to do."""

        self._closing = False
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def submit(self, tenant: str, work: Callable[[], T]) -> Future[T]:
        """Let the thread do some work of a tenant, which should be short: nothing interrupts it."""
        result = Future[T]()
        with self._changed:
            self._waiting.append(_Turn(tenant, partial(_take, work, result)))
            self._changed.notify()
        return result

    def close(self) -> None:
        """End the thread, after what waits."""
        with self._changed:
            self._closing = True
            self._changed.notify()
        self._thread.join()

    def _run(self) -> None:
        while turn := self._next():
            began = self._monotonic()
            turn.take()
            self._used[turn.tenant] += self._monotonic() - began
            del turn  # or its results stayed in memory until the next one comes

    def _next(self) -> _Turn | None:
        """The next turn, which may be long in coming; None at the end."""
        with self._changed:
            if not self._waiting:
                self._used.clear()
            self._changed.wait_for(lambda: self._waiting or self._closing)
            if not self._waiting:
                return None
            turn = min(self._waiting, key=lambda each: self._used[each.tenant])
            self._waiting.remove(turn)
            return turn
