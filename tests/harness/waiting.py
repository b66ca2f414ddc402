"""Waits for conditions, spares the code under test its pauses, and finds free ports."""

import socket
import threading
import time
from collections.abc import Callable
from typing import Any


def eventually(
    check: Callable[[], Any],
    seconds: float = 120.0,
    what: str = "the condition",
    every: float | None = None,
) -> Any:
    """The first truthy result of `check`; the test fails with `what` if there is none in time.

    It is checked `every` so many seconds. Without that the pause is a tenth of the time waited so far: a
    check costs CPU of the processes under test, and must not slow down what takes long anyway.
    """
    began = time.monotonic()
    while not (found := check()):
        waited = time.monotonic() - began
        assert waited < seconds, f"not within {seconds:.0f} s: {what}"
        time.sleep(min(max(waited / 10, 0.05), 0.5) if every is None else every)
    return found


class NoPauses(threading.Event):
    """An event for code that pauses with it: a wait for some seconds is over at once."""

    def wait(self, timeout: float | None = None) -> bool:
        """Whether it is set. Without a time it waits until it is."""
        return super().wait(None if timeout is None else 0)


def free_port() -> int:
    """A port on the loopback address on which no process listens."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])
