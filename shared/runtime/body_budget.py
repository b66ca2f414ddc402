"""Bounds the memory of all request bodies of a process.

When the budget is used up, the request that has been incomplete for longest is evicted. So a client that
sends its whole body at once never waits for one that sends slowly or withholds the end of a large body. The
owner can make room in the same way if it bounds the number of requests.

Answers that wait for their clients count too, and give way for memory alone.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Reservation:
    """The part of the budget that one request holds."""

    def __init__(self, budget: "BodyBudget", give_up: Callable[[], None], *, is_answer: bool) -> None:
        self._budget = budget
        self._give_up = give_up
        self.is_answer = is_answer
        """Whether it is of an answer that waits for its client, not of a body."""

        self.bytes = 0
        self.evicted = False
        """Whether the request was evicted; it is answered 503."""

    def grow(self, count: int) -> None:
        """Hold `count` bytes more.

        Raises:
            Exception: the budget's refusal: it is used up and no older request could be evicted, or this one
                was evicted and has not ended yet.
        """
        self._budget.make_room(count, self)
        self._add(count)

    def hold(self, count: int) -> None:
        """Hold `count` bytes that are in use already: others give way, or else the budget is exceeded."""
        self._budget.evict_for(count, self)
        self._add(count)

    def shrink(self, count: int) -> None:
        """Hold no more than `count` bytes from now on."""
        self._add(min(0, count - self.bytes))

    def complete(self) -> None:
        """The body is complete: the request is not evicted any more."""
        self._budget.settle(self)

    def evict(self) -> None:
        """Release the bytes and make the request end with 503."""
        self.evicted = True
        self.release()
        self._give_up()

    def release(self) -> None:
        """Give all bytes back to the budget."""
        self._budget.held -= self.bytes
        self.bytes = 0

    def _add(self, count: int) -> None:
        self._budget.held += count
        self.bytes += count


class BodyBudget:
    """Counts the bytes that all requests hold, on one event loop."""

    def __init__(self, limit: int, refusal: Callable[[], Exception]) -> None:
        """`limit` in bytes; `refusal` makes what is raised for a body for which there is no memory."""
        self.limit, self._refusal = limit, refusal
        self._reading: dict[Reservation, None] = {}  # oldest first
        self.held = 0
        """Bytes that requests hold now."""

    @contextmanager
    def reserved(self, give_up: Callable[[], None], *, is_answer: bool = False) -> Iterator[Reservation]:
        """A reservation for the length of a request.

        Args:
            give_up: called once if the request is evicted.
            is_answer: it is of an answer that waits for its client, not of a body.
        """
        reservation = Reservation(self, give_up, is_answer=is_answer)
        self._reading[reservation] = None
        try:
            yield reservation
        finally:
            self._reading.pop(reservation, None)
            reservation.release()

    def settle(self, reservation: Reservation) -> None:
        """Exempt a reservation from eviction."""
        self._reading.pop(reservation, None)

    def evict_oldest(self) -> bool:
        """Evict the request that has been incomplete for longest; False if the body of each is complete.

        Answers stay: their requests are done, and would be sent again.
        """
        oldest = next((each for each in self._reading if not each.is_answer), None)
        if oldest is None:
            return False
        del self._reading[oldest]
        oldest.evict()
        return True

    def make_room(self, count: int, asking: Reservation) -> None:
        """Evict incomplete requests, oldest first, until `count` bytes are free.

        Raises:
            Exception: the refusal: all bytes left belong to complete bodies or to `asking`, or `asking` was
                evicted: what it held is another's now, and it could not be made to give way again.
        """
        if asking.evicted or not self.evict_for(count, asking):
            raise self._refusal()

    def evict_for(self, count: int, asking: Reservation) -> bool:
        """Evict incomplete requests, oldest first; returns whether `count` bytes are free."""
        while self.held + count > self.limit:
            oldest = next((each for each in self._reading if each.bytes or each is asking), asking)
            if oldest is asking:
                return False
            del self._reading[oldest]
            oldest.evict()
        return True
