"""A load, and what came of offering it once. Pure."""

from msgspec import Struct

from scripts.experiments.harness.cpu import Seconds, per_million
from scripts.experiments.harness.percentiles import Quantiles

_OUTSIDE = ("load", "destination")


class Load(Struct, frozen=True, kw_only=True):
    """What is offered: `rate` events per second, in requests of `batch` events, for `seconds`."""

    rate: int
    batch: int
    seconds: float

    @property
    def label(self) -> str:
        """As a table's row names it."""
        shape = "single events" if self.batch == 1 else f"batches of {self.batch}"
        return f"{self.rate:,}/s, {shape}"


class Sent(Struct, frozen=True, kw_only=True):
    """What the load generator did."""

    events: int
    acked: int
    seconds: float
    """From the first request's planned time to the last answer."""

    slip_p99_ms: float
    """How late requests left, against the plan."""

    refused: dict[str, int] = {}
    """Events not acknowledged, by what they got instead: a status, or an error."""


class Run(Struct, frozen=True, kw_only=True):
    """One load, offered once."""

    load: Load
    sent: Sent
    lag: Quantiles | None
    """From the event's time, stamped as it is sent, to its arrival at the destination; ms."""

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
        """CPU seconds for a million delivered events, by process."""
        return per_million(self.cpu, self.delivered)


def chain_cpu(cpu: Seconds) -> float:
    """CPU of everything that is part of the chain: all but generator and destination."""
    return sum(seconds for name, seconds in cpu.items() if name not in _OUTSIDE)
