"""Looks in the background at what keeps a version from running on a side, which takes a minute."""

import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Final, NamedTuple

from pipelines.control.deploy.backend import Obstacle

_LOOK_AGAIN_SECONDS: Final = 60.0
"""After so long a version may have become another one: the checkout was changed."""

Look = Callable[[str, str], Sequence[Obstacle]]
"""Finds the obstacles of a side for a version."""


class _Looked(NamedTuple):
    """The obstacles of a version, and when they were found, by a monotonic clock."""

    found: Sequence[Obstacle]
    at: float


class ObstacleLooks:
    """The looks that were begun, one at a time. Belongs to one thread."""

    def __init__(self, look: Look) -> None:
        self._find, self._pool = look, ThreadPoolExecutor(1)
        self._looked: dict[tuple[str, str], Future[_Looked]] = {}

    def found(self, side: str, version: str) -> Sequence[Obstacle] | None:
        """The obstacles found; None while a look is under way. One that failed raises, and is made again."""
        looked = self._looked.get((side, version))
        if looked is None or _is_old(looked):
            looked = self._looked[side, version] = self._pool.submit(self._look, side, version)
        if not looked.done():
            return None
        if looked.exception() is not None:
            del self._looked[side, version]
        return looked.result().found

    def _look(self, side: str, version: str) -> _Looked:
        found = self._find(side, version)
        return _Looked(found, time.monotonic())


def _is_old(looked: Future[_Looked]) -> bool:
    """Whether what was found may have changed since."""
    if not looked.done() or looked.exception() is not None:
        return False
    return time.monotonic() > looked.result().at + _LOOK_AGAIN_SECONDS
