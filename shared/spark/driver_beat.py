"""How a driver at work shows that it lives, and what one that waits sees of that."""

import itertools
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Final

from shared.runtime.logging import get_logger

_log = get_logger(__name__)

BEAT_SECONDS: Final = 1.0


def beat(file: Path, number: int) -> None:
    """Let the file show this number: as its time, since a full disk has no room for what would be in it.

    Raises:
        OSError: if the file cannot be made or changed.
    """
    file.touch()
    os.utime(file, (number, number))


def last_beat(file: Path) -> str:
    """The last beat that the file shows; empty if there was none yet."""
    try:
        return str(file.stat().st_mtime_ns)
    except FileNotFoundError:
        return ""


def beat_until(
    ended: threading.Event,
    answers: Callable[[], object],
    show: Callable[[int], None],
    seconds: float = BEAT_SECONDS,
) -> None:
    """Show another number again and again, each time after the JVM has answered.

    What the file system refuses is tried again: that does not mean that the driver is dead.

    Args:
        ended: set when the driver has nothing to show any more.
        answers: blocks while the JVM does not answer, and raises once it cannot any more, which is raised.
        show: gets the number.
        seconds: from one to the next.
    """
    shown = True
    for number in itertools.count():
        answers()
        shown = _shown(show, number, before=shown)
        if ended.wait(seconds):
            return


def _shown(show: Callable[[int], None], number: int, *, before: bool) -> bool:
    """Whether a number was shown; the first of several failures is logged."""
    try:
        show(number)
    except OSError:
        if before:
            _log.warning("beat not written: a standby ends this driver if that lasts", exc_info=True)
        return False
    return True
