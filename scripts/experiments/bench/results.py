"""Figures of the bench, as written to its JSON file. Pure."""

from collections.abc import Callable, Iterable

from msgspec import Struct

from scripts.experiments.bench.lags import HopLag
from scripts.experiments.bench.machine import Machine
from scripts.experiments.harness.bounds import Bound
from scripts.experiments.harness.cpu import Seconds
from scripts.experiments.harness.percentiles import Spread, spread
from scripts.experiments.harness.rating import HELD_SHARE, SLIP_MS, Rating
from scripts.experiments.harness.runs import Load, Run
from scripts.local.processes.profile import SideProfile


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
    parts: SideProfile
    """Programs of hifi's side: with the meter, or without."""

    targets: list[ChainFigures]


_HOPS = ("ingest", "route", "transmit", "spark driver", "spark jvm", "spark python workers")


def hops_cpu(cpu: Seconds) -> float:
    """CPU of the three hops alone: the part in which hifi and the baseline differ."""
    return sum(seconds for name, seconds in cpu.items() if name in _HOPS)


def total(values: Iterable[Run], figure: Callable[[Run], int]) -> int:
    """Sum of a count over runs."""
    return sum(figure(run) for run in values)


def bounds(target: ChainFigures, p95_ms: float | None) -> list[Bound]:
    """Bounds of the planned loads: nothing lost, and nearly all of each acknowledged and delivered.

    Unless `p95_ms` is None also: each was sent on time, with a p95 of at most that.
    """
    lost = sum(total(phase.runs, lambda run: run.lost) for phase in target.phases)
    found = [Bound(what=f"lost by {target.name}", figure=lost, most=0, unit="events")]
    for phase in target.phases:
        found += _complete(phase)
        if p95_ms is not None:
            found += _punctual(phase, p95_ms)
    return found


def _complete(phase: LoadResults) -> list[Bound]:
    """A run that refuses events, or leaves them to a retry, was fast with another load than the planned."""
    label, most = phase.load.label, 100 * (1 - HELD_SHARE)
    events, acked = (total(phase.runs, count) for count in (lambda run: run.sent.events, _acked))
    waiting = total(phase.runs, lambda run: run.waiting)
    return [
        Bound(
            what=f"not acknowledged at {label}", figure=_percent(events - acked, events), most=most, unit="%"
        ),
        Bound(what=f"waiting for a retry at {label}", figure=_percent(waiting, acked), most=most, unit="%"),
    ]


def _punctual(phase: LoadResults, p95_ms: float) -> list[Bound]:
    slip, p95 = phase.over(lambda run: run.sent.slip_p99_ms), phase.over(_p95)
    label = phase.load.label
    return [
        Bound(
            what=f"p99 of the generator's lateness at {label}", figure=_median(slip), most=SLIP_MS, unit="ms"
        ),
        Bound(what=f"p95 at {label}", figure=_median(p95), most=p95_ms, unit="ms"),
    ]


def _acked(run: Run) -> int:
    return run.sent.acked


def _p95(run: Run) -> float | None:
    return run.lag.p95 if run.lag else None


def _median(found: Spread | None) -> float | None:
    return found.median if found else None


def _percent(part: int, whole: int) -> float | None:
    return 100 * part / whole if whole else None
