"""How a destination is, as observe answers. Times are epoch milliseconds."""

from msgspec import Struct


class DestinationHealth(Struct, kw_only=True, frozen=True):
    """A destination, over the last minutes."""

    name: str
    tenant: str
    pipes: list[str]
    delivered: int
    """Events."""

    failed: int
    """Events with a try that ended in a retry or a dead letter."""

    waiting: int
    """Events that wait for their next try, of any age."""

    reasons: dict[str, int]
    """Failed events by `status reason`; also waiting ones of earlier minutes, if nothing was delivered
    since they failed last."""

    breaker: str
    """`closed`, `open` or `half_open`, as the newest receipt says; empty if nothing was sent."""

    lane: str
    """`fast` or `slow`, likewise."""

    health: str
    """`good`, `failing`, `down` or `idle`."""

    window_seconds: float = 0.0
    """The time whose minutes delivered and failed cover."""

    last_error: str = ""
    """The commonest reason of the newest of these failures, `status reason`; empty if there is none."""

    last_error_ms: int | None = None
    """Time of the newest failure, epoch milliseconds."""

    oldest_waiting_ms: int | None = None
    """Beginning of the minute of the oldest event that waits, epoch milliseconds."""

    @property
    def events_per_second(self) -> float:
        """Delivered."""
        return self.delivered / self.window_seconds if self.window_seconds else 0.0

    @property
    def success(self) -> float | None:
        """Share of the events tried that were delivered; None if none was tried."""
        tried = self.delivered + self.failed
        return self.delivered / tried if tried else None
