"""One executor of a side rehearses at a time: two would share the rehearsal's topics."""

import fcntl
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import gettempdir
from typing import Final

_LOOK_SECONDS: Final = 0.2
_MOST_SECONDS: Final = 900.0
"""Seven others may come first, with a minute or two each; one that hangs must not keep all others away."""


@contextmanager
def turn(ended: Callable[[], bool], most_seconds: float = _MOST_SECONDS) -> Iterator[bool]:
    """Wait until no other executor of this side rehearses, and keep others waiting meanwhile.

    Yields whether the turn has come: not when it `ended` first, nor when another one takes too long.
    """
    deadline = time.monotonic() + most_seconds
    with Path(gettempdir(), "rehearsal.lock").open("a") as file:
        has_come = False
        while not has_come and not ended() and time.monotonic() < deadline:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                has_come = True
            except BlockingIOError:
                time.sleep(_LOOK_SECONDS)
        yield has_come
