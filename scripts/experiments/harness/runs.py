"""A load, and the figures of one run of it. Pure."""

from msgspec import Struct

from scripts.experiments.harness.cpu import Seconds, per_million
from scripts.experiments.harness.percentiles import Quantiles

_OUTSIDE = ("load", "destination")


class Load(Struct, frozen=True, kw_only=True):
    """`rate` events per second in requests of `batch` events, for `seconds`."""

    rate: int
    batch: int
    seconds: float

    @property
    def label(self) -> str:
        """Name of the load in a table."""
        shape = "single events" if self.batch == 1 else f"batches of {self.batch}"
        return f"{self.rate:,}/s, {shape}"


class Sent(Struct, frozen=True, kw_only=True):
    """Figures of the load generator."""

    events: int
    acked: int
    seconds: float
    """Time from the first request's scheduled time to the last response."""

    slip_p99_ms: float
    """How much later than scheduled requests left, p99."""

    refused: dict[str, int] = {}
    """Events that were not acknowledged, by status or error."""


class Run(Struct, frozen=True, kw_only=True):
    """Figures of one run of a load."""

    load: Load
    sent: Sent
    lag: Quantiles | None
    """Milliseconds from the event's time, stamped as it is sent, to its arrival at the destination."""

    delivered: int
    waiting: int
    """Acknowledged and visible in a retry or dead-letter topic."""

    lost: int
    duplicated: int
    cpu: Seconds
    """CPU seconds by process, from the first request until everything had arrived."""

    @property
    def acked_rate(self) -> float:
        """Acknowledged events per second."""
        return self.sent.acked / self.sent.seconds if self.sent.seconds else 0.0

    @property
    def cpu_per_million(self) -> Seconds:
        """CPU seconds per million delivered events, by process."""
        return per_million(self.cpu, self.delivered)


def chain_cpu(cpu: Seconds) -> float:
    """CPU of the chain: all processes but generator and destination."""
    return sum(seconds for name, seconds in cpu.items() if name not in _OUTSIDE)
