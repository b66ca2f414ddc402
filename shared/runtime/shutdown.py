"""Ending in good order: SIGTERM and SIGINT ask a process to finish what it has, and exit 0."""

import signal
import threading
from types import FrameType

STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)


def stop_event() -> threading.Event:
    """An event that the first SIGTERM or SIGINT sets. A second one ends the process at once.

    Call from the main thread.
    """
    stopping, received = threading.Event(), list[int]()

    def stop(number: int, _frame: FrameType | None) -> None:
        if received:
            signal.signal(number, signal.SIG_DFL)
            signal.raise_signal(number)
        received.append(number)
        # The main thread may be inside `wait`, with the lock that `set` takes: here it would wait for itself.
        threading.Thread(target=stopping.set, name="stop", daemon=True).start()

    for number in STOP_SIGNALS:
        signal.signal(number, stop)
    return stopping


def exit_zero_on_stop() -> None:
    """Swallow stop signals, for a server that handles them and raises them again when it is done."""
    for number in STOP_SIGNALS:
        signal.signal(number, _ignore)


def _ignore(_number: int, _frame: FrameType | None) -> None:
    """A handler, not SIG_IGN, which child processes would inherit."""
