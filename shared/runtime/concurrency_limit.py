"""Bounds how many callers do a costly thing at once in a process; further ones are refused at once."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class ConcurrencyLimit:
    """A number of permits. May be used from any thread."""

    def __init__(self, most: int, refusal: Callable[[], Exception]) -> None:
        """`refusal` makes what is raised while `most` permits are given out."""
        self._free, self._refusal = threading.BoundedSemaphore(most), refusal

    @contextmanager
    def permit(self) -> Iterator[None]:
        """A permit, until the block ends.

        Raises:
            Exception: the refusal: none is free.
        """
        if not self._free.acquire(blocking=False):
            raise self._refusal()
        try:
            yield
        finally:
            self._free.release()
