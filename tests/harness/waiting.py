"""Waits for conditions, and finds free ports."""

import socket
import time
from collections.abc import Callable
from typing import Any


def eventually(
    check: Callable[[], Any], seconds: float = 120.0, what: str = "the condition", every: float = 0.05
) -> Any:
    """The first truthy result of `check`; the test fails with `what` if there is none in time."""
    deadline = time.monotonic() + seconds
    while not (found := check()):
        assert time.monotonic() < deadline, f"not within {seconds:.0f} s: {what}"
        time.sleep(every)
    return found


def free_port() -> int:
    """A port on the loopback address on which no process listens."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])
