"""Figures of the bench, as written to its JSON file. Pure."""

from collections.abc import Callable, Iterable

from msgspec import Struct

from scripts.experiments.bench.lags import HopLag
from scripts.experiments.bench.machine import Machine
from scripts.experiments.bench.search import Trial
from scripts.experiments.harness.bounds import Bound
from scripts.experiments.harness.cpu import Seconds
from scripts.experiments.harness.percentiles import Spread, spread
from scripts.experiments.harness.runs import Load, Run

HELD_P95_MS = 1_000.0
HELD_SHARE = 0.99
SLIP_MS = 250.0
"""Lateness of the load generator (p99) beyond which it did not send the planned load."""


class LoadResults(Struct, frozen=True, kw_only=True):
    """The runs of one load."""

    load: Load
    runs: list[Run]

    def over(self, figure: Callable[[Run], float | None]) -> Spread | None:
        """Median and spread of a figure over the runs that have it."""
        found = (figure(run) for run in self.runs)
        return spread(value for value in found if value is not None)

    def cpu(self) -> Seconds:
        """Median CPU seconds per million events, by process."""
        names = sorted({name for run in self.runs for name in run.cpu})
        found = {name: self.over(lambda run, name=name: run.cpu_per_million.get(name)) for name in names}  # type: ignore[misc]
        return {name: value.median for name, value in found.items() if value}


class Rating(Struct, frozen=True, kw_only=True):
    """The highest rate that was held, and the trials of the search."""

    rate: int
    """Events per second; 0 if no rate was held."""

    trials: list[Trial]
    runs: list[Run]
    complaints: list[str]
    """Why each trial did not hold; empty for one that did."""

    cut_short: bool = False
    """Whether the search ran out of time."""


class ChainFigures(Struct, kw_only=True):
    """All figures of one chain, hifi or the baseline; parts that were not measured are empty."""

    name: str
    ready_seconds: float | None = None
    first_minute: Run | None = None
    idle: Seconds = {}
    """Percent of one core by process, without traffic."""

    phases: list[LoadResults] = []
    rating: Rating | None = None


class Profile(Struct, kw_only=True):
    """Lag by hop and CPU of one load."""

    run: Run
    hops: list[HopLag]
    threads: Seconds = {}
    """Percent of one core by thread of the Spark driver's JVM, similar threads together."""

    methods: Seconds = {}
    """Percent of the JVM's execution samples by running method."""

    callers: Seconds = {}
    """Percent of the same samples by kind of thread and innermost library class."""


class Report(Struct, kw_only=True):
    """The bench's JSON file."""

    format: int = 1
    started: str
    """RFC 3339, UTC."""

    machine: Machine
    targets: list[ChainFigures]


_HOPS = ("ingest", "route", "transmit", "spark driver", "spark jvm", "spark python workers")


def complaint(run: Run) -> str:
    """The gravest reason why a run did not hold; empty if it did."""
    sent, lag = run.sent, run.lag
    reasons = (
        (run.lost > 0, f"{run.lost} acknowledged events lost"),
        (sent.slip_p99_ms > SLIP_MS, f"the load generator was {sent.slip_p99_ms:.0f} ms late (p99)"),
        (sent.acked < HELD_SHARE * sent.events, f"{sent.acked} of {sent.events} events acknowledged"),
        (run.waiting > (1 - HELD_SHARE) * sent.acked, f"{run.waiting} events wait for a retry"),
        (lag is None, "nothing arrived"),
        (lag is not None and lag.p95 > HELD_P95_MS, f"p95 {lag.p95 if lag else 0:.0f} ms"),
    )
    return next((text for applies, text in reasons if applies), "")


def hops_cpu(cpu: Seconds) -> float:
    """CPU of the three hops alone: the part in which hifi and the baseline differ."""
    return sum(seconds for name, seconds in cpu.items() if name in _HOPS)


def total(values: Iterable[Run], figure: Callable[[Run], int]) -> int:
    """Sum of a count over runs."""
    return sum(figure(run) for run in values)


def bounds(target: ChainFigures, p95_ms: float | None) -> list[Bound]:
    """Bounds: nothing lost at any planned load and, unless `p95_ms` is None, p95 of each at most that."""
    lost = sum(total(phase.runs, lambda run: run.lost) for phase in target.phases)
    nothing_lost = Bound(what=f"lost by {target.name}", figure=lost, most=0, unit="events")
    if p95_ms is None:
        return [nothing_lost]
    p95s = [(phase.load.label, phase.over(_p95)) for phase in target.phases]
    return [
        nothing_lost,
        *(
            Bound(what=f"p95 at {label}", figure=found.median if found else None, most=p95_ms, unit="ms")
            for label, found in p95s
        ),
    ]


def _p95(run: Run) -> float | None:
    return run.lag.p95 if run.lag else None
