"""Profile of one load: lag by hop, CPU by process and by thread of the JVM."""

import time

import msgspec
from rich.console import Console

from scripts.experiments.bench import threads
from scripts.experiments.bench.jfr_profile import recorded
from scripts.experiments.bench.lags import HopLag
from scripts.experiments.bench.report import Rows, rich_table
from scripts.experiments.bench.results import Profile
from scripts.experiments.bench.topic_tail import read_hop_lags
from scripts.experiments.harness.cpu import Seconds
from scripts.experiments.harness.measure import Bench
from scripts.experiments.harness.runs import Load
from shared.runtime.clock import wall_clock

_SAMPLE = 20_000
_SHOWN = 15
_LEAD_SECONDS = 5.0
_KEPT = 60


def profile(bench: Bench, load: Load) -> Profile:
    """Send a load and measure.

    Raises:
        ChainError: if a process of the chain ends.
        KafkaException: if the brokers do not answer.
        TimeoutError: if the topics are not read back in time.
    """
    bench.run(msgspec.structs.replace(load, seconds=_LEAD_SECONDS), lead_seconds=0)
    java = threads.jvm(bench.chain.roots)
    before = threads.thread_seconds(java) if java else {}
    start_ms, began = wall_clock(), time.monotonic()
    with recorded(java) as methods:
        run = bench.run(load, lead_seconds=0)
        busy = _busy(java, before, began)
    every = max(1, round(load.rate * load.seconds / _SAMPLE))
    hops = read_hop_lags(bench.chain.side.bootstrap, start_ms, every=every)
    return Profile(
        run=run, hops=hops, threads=busy, methods=_first(methods.top), callers=_first(methods.callers)
    )


def _busy(java: int | None, before: dict[int, float], began: float) -> Seconds:
    if java is None:
        return {}
    names, after = threads.thread_names(java), threads.thread_seconds(java)
    return threads.by_kind(before, after, names, time.monotonic() - began)


def _first(shares: Seconds) -> Seconds:
    return dict(list(shares.items())[:_KEPT])


def show(console: Console, found: Profile) -> None:
    """Print a profile."""
    console.print(rich_table(f"lag by hop, ms, {found.run.load.label}", hop_rows(found.hops)))
    console.print(rich_table("CPU seconds per million events", _share_rows(found.run.cpu_per_million, "s")))
    for title, shares, unit in (
        ("threads of the Spark JVM", found.threads, "% of a core"),
        ("methods of the Spark JVM, by samples", found.methods, "%"),
        ("by thread and innermost library class", found.callers, "%"),
    ):
        if shares:
            console.print(rich_table(title, _share_rows(shares, unit)))


def hop_rows(hops: list[HopLag]) -> Rows:
    """A row for each step of an event's way."""
    heads = ("from", "to", "events", "p50", "p95", "p99", "highest")
    cells = [
        [hop.start, hop.end, f"{hop.lag.count:,}", *(f"{value:,.0f}" for value in _figures(hop))]
        for hop in hops
    ]
    return heads, [[str(cell) for cell in row] for row in cells]


def _figures(hop: HopLag) -> tuple[float, ...]:
    return hop.lag.p50, hop.lag.p95, hop.lag.p99, hop.lag.highest


def _share_rows(shares: Seconds, unit: str) -> Rows:
    ordered = sorted(shares.items(), key=lambda item: -item[1])[:_SHOWN]
    return ("name", unit), [[name, f"{value:,.1f}"] for name, value in ordered]
