"""When each request of a load is due: by the clock alone, never by how fast answers come (an open loop)."""

from msgspec import Struct


class Schedule(Struct, frozen=True, kw_only=True):
    """Requests at even distances."""

    rate: float | None = None
    """Events per second; None sends as fast as answers come."""

    batch: int = 100
    """Events in a request."""

    seconds: float | None = None
    """How long; None until the events are at their end."""

    def due(self, turn: int) -> float:
        """Seconds from the start to the request number `turn`, from 0."""
        return 0.0 if self.rate is None else turn * self.batch / self.rate

    def over(self, turn: int, elapsed: float) -> bool:
        """Whether request number `turn` is beyond the end, `elapsed` seconds after the start.

        With a rate the number of requests is fixed: a sender that was held up makes up for it.
        """
        if self.seconds is None:
            return False
        return (elapsed if self.rate is None else self.due(turn)) >= self.seconds
