"""Runs the bench: one chain after the other, each freshly started and stopped."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import msgspec

from scripts.experiments.bench.plan import BATCH, BenchPlan
from scripts.experiments.bench.results import ChainFigures, LoadResults
from scripts.experiments.bench.systems import baseline
from scripts.experiments.harness.measure import Bench, destination_port, destination_url
from scripts.experiments.harness.rating import Say, search_rating
from scripts.experiments.harness.runs import Load
from scripts.experiments.harness.side import RunningChain, hifi
from scripts.experiments.harness.subprocesses import ChainError
from scripts.local.jars import Jars
from scripts.local.ports import free_base
from scripts.local.side import Side

Done = Callable[[ChainFigures], None]


def run_plan(plan: BenchPlan, folder: Path, jars: Jars, say: Say, done: Done) -> None:
    """Measure hifi, then the baseline; `done` gets the figures of each when they are complete.

    Raises:
        ChainError: if a chain does not start, or one of its processes ends.
    """
    base, port = free_base(), destination_port()
    ours = Side(root=folder / "hifi", port=base, partitions=plan.partitions)
    found = measured(hifi(ours, destination_url(port), plan.parts), port, plan, say)
    done(found)
    if plan.yardstick:
        theirs = Side(root=folder / "baseline", port=base, partitions=plan.partitions)
        rated = found.rating.rate if found.rating else 0
        beside = msgspec.structs.replace(plan, loads=(*plan.loads, *_rated(plan, rated)))
        done(measured(baseline(theirs, destination_url(port), jars), port, beside, say))


def _rated(plan: BenchPlan, rate: int) -> tuple[Load, ...]:
    """An additional load for the baseline: hifi's rating, to compare the cost at that rate."""
    return (Load(rate=rate, batch=BATCH, seconds=plan.probe_seconds),) if rate else ()


def measured(
    start: AbstractContextManager[RunningChain], port: int, plan: BenchPlan, say: Say
) -> ChainFigures:
    """All figures of one chain.

    Raises:
        ChainError: if it does not start, or one of its processes ends.
    """
    say("starting")
    with start as chain:
        bench = Bench(chain, port)
        target = ChainFigures(name=chain.name, ready_seconds=round(chain.ready_seconds, 1))
        say(f"{chain.name}: first minute, {plan.first_minute.label}")
        target.first_minute = bench.run(plan.first_minute, lead_seconds=0)
        if not target.first_minute.delivered:
            raise ChainError(
                f"{chain.name} delivered nothing in its first minute: see the logs in {chain.side.logs}"
            )
        say(f"{chain.name}: warm-up, {plan.warm_up.label}")
        bench.run(plan.warm_up, lead_seconds=0)
        say(f"{chain.name}: idle")
        target.idle = bench.idle(plan.idle_seconds)
        target.phases = phases(bench, plan, say)
        if plan.rating:
            target.rating = search_rating(bench, plan.search, say)
    return target


def phases(bench: Bench, plan: BenchPlan, say: Say) -> list[LoadResults]:
    """Every load as often as planned; repeats alternate, so that a slow minute affects all loads alike."""
    found = [LoadResults(load=load, runs=[]) for load in plan.loads]
    for turn in range(plan.repeats):
        for phase in found:
            say(f"{bench.chain.name}: {phase.load.label}, {turn + 1} of {plan.repeats}")
            phase.runs.append(bench.run(phase.load))
    return found
