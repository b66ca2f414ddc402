"""The memory that request bodies may take together: decompressed bytes of all requests of a process.

When it is full, the request that has been incomplete for longest yields: a client that sends a whole body at
once never waits for one that sends slowly, or that holds back the end of a body that became megabytes.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from pipelines.data.collect.errors import RefusedError, unavailable, unread

_RETRY_SECONDS: Final = 1


class Reservation:
    """What one request holds of the budget."""

    def __init__(self, budget: "BodyBudget", give_up: Callable[[], None]) -> None:
        self._budget = budget
        self._give_up = give_up
        self.bytes = 0
        self.evicted = False
        """Whether it had to yield; its body is refused then."""

    def grow(self, count: int) -> None:
        """Hold `count` bytes more.

        Raises:
            RefusedError: 503, there is no room and no older request could yield.
        """
        self._budget.make_room(count, self)
        self._budget.held += count
        self.bytes += count

    def complete(self) -> None:
        """The body is whole: it no longer yields."""
        self._budget.settle(self)

    def evict(self) -> None:
        """Make the request end with 503."""
        self.evicted = True
        self.release()
        self._give_up()

    def release(self) -> None:
        """Hold nothing any more."""
        self._budget.held -= self.bytes
        self.bytes = 0


class BodyBudget:
    """Counts what all requests hold; for one event loop."""

    def __init__(self, limit: int) -> None:
        """`limit` in bytes."""
        self._limit = limit
        self._reading: dict[Reservation, None] = {}  # the one that began first comes first
        self.held = 0
        """Bytes that requests hold now."""

    @contextmanager
    def reserved(self, give_up: Callable[[], None]) -> Iterator[Reservation]:
        """A reservation for the length of a request.

        Args:
            give_up: called once if the request has to yield.
        """
        reservation = Reservation(self, give_up)
        self._reading[reservation] = None
        try:
            yield reservation
        finally:
            self._reading.pop(reservation, None)
            reservation.release()

    def settle(self, reservation: Reservation) -> None:
        """Take a reservation out of those that may have to yield."""
        self._reading.pop(reservation, None)

    def make_room(self, count: int, asking: Reservation) -> None:
        """Let requests yield, oldest first, until `count` bytes are free.

        Raises:
            RefusedError: 503, all that is left belongs to bodies that are whole, or to the one that asks.
        """
        while self.held + count > self._limit:
            oldest = next((each for each in self._reading if each.bytes or each is asking), asking)
            if oldest is asking:
                raise out_of_memory()
            del self._reading[oldest]
            oldest.evict()


def out_of_memory() -> RefusedError:
    """The refusal of a body for which there is no room."""
    return unread(unavailable("there is no memory left for request bodies", _RETRY_SECONDS))
