"""Tenants share one thread in proportion to the time that they use."""

import threading
from collections.abc import Iterator
from concurrent.futures import Future
from functools import partial

import pytest

from pipelines.data.transmit.delivery.fair_executor import FairExecutor

_WAIT_SECONDS = 60


class Clock:
    """A clock that only work advances."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class Thread:
    """An executor that holds its first turn until `go`, and records the order of the others."""

    def __init__(self) -> None:
        self._clock = Clock()
        self.executor = FairExecutor("test", self._clock)
        self._go = threading.Event()
        self.taken: list[str] = []
        self._held = self.executor.submit("first", self._wait)

    def _wait(self) -> None:
        self._go.wait(_WAIT_SECONDS)

    def submit(self, tenant: str, seconds: float, then: float | None = None) -> Future[None]:
        """Submit work of a given length; with `then`, the tenant returns at once with that much."""

        def work() -> None:
            self._clock.now += seconds
            self.taken.append(tenant)
            if then is not None:
                self.submit(tenant, then)

        return self.executor.submit(tenant, work)

    def release(self) -> None:
        self._go.set()

    def finish(self) -> list[str]:
        self.release()
        self.executor.close()
        return self.taken


@pytest.fixture
def thread() -> Iterator[Thread]:
    found = Thread()
    yield found
    found.finish()


def test_a_tenant_with_many_costly_turns_delays_another_by_one_of_them(thread: Thread) -> None:
    for _ in range(20):
        thread.submit("costly", 1.0)
    thread.submit("light", 0.001, then=0.001)
    assert thread.finish()[:4] == ["costly", "light", "light", "costly"]


def test_turns_of_one_tenant_are_taken_in_their_order(thread: Thread) -> None:
    order: list[int] = []
    for number in range(5):
        thread.executor.submit("one", partial(order.append, number))
    thread.finish()
    assert order == [0, 1, 2, 3, 4]


def test_what_a_tenant_used_is_forgotten_when_there_is_nothing_to_do(thread: Thread) -> None:
    used = thread.submit("before", 100.0)
    again = threading.Event()

    def last() -> None:
        again.wait(_WAIT_SECONDS)

    thread.release()
    used.result(_WAIT_SECONDS)
    thread.executor.submit("other", lambda: None).result(_WAIT_SECONDS)
    held = thread.executor.submit("held", last)
    thread.submit("before", 1.0)
    thread.submit("new", 1.0)
    again.set()
    held.result(_WAIT_SECONDS)
    assert thread.finish() == ["before", "before", "new"]


def test_a_failure_is_its_callers_and_the_next_turn_is_taken(thread: Thread) -> None:
    def fail() -> None:
        raise ZeroDivisionError

    failed = thread.executor.submit("one", fail)
    thread.submit("one", 0.1)
    assert thread.finish() == ["one"]
    with pytest.raises(ZeroDivisionError):
        failed.result(0)


def test_work_that_was_cancelled_is_not_done(thread: Thread) -> None:
    thread.submit("one", 0.1).cancel()
    assert thread.finish() == []
