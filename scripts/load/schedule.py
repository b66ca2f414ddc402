"""Schedule of a load: due times of requests, independent of responses (an open loop)."""

from msgspec import Struct


class Schedule(Struct, frozen=True, kw_only=True):
    """Requests at even intervals."""

    rate: float | None = None
    """Events per second; None sends as fast as responses come."""

    batch: int = 100
    """Events in a request."""

    seconds: float | None = None
    """Duration; None until the events run out."""

    def due(self, turn: int) -> float:
        """Due time of request number `turn` (from 0), in seconds after the start."""
        return 0.0 if self.rate is None else turn * self.batch / self.rate

    def over(self, turn: int, elapsed: float) -> bool:
        """Whether request number `turn` is past the end, `elapsed` seconds after the start.

        With a rate the number of requests is fixed: a sender that was late catches up.
        """
        if self.seconds is None:
            return False
        return (elapsed if self.rate is None else self.due(turn)) >= self.seconds
