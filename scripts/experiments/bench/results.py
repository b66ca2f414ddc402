"""Figures of the bench, as written to its JSON file. Pure."""

from collections.abc import Callable, Iterable

from msgspec import Struct

from scripts.experiments.bench.lags import HopLag
from scripts.experiments.bench.machine import Machine
from scripts.experiments.harness.bounds import Bound
from scripts.experiments.harness.cpu import Seconds
from scripts.experiments.harness.percentiles import Spread, spread
from scripts.experiments.harness.rating import Rating
from scripts.experiments.harness.runs import Load, Run


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
