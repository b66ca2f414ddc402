"""Where the time goes at one load: lag by hop, CPU by process and by thread of the JVM."""

import time

from rich.console import Console

from scripts.bench import threads
from scripts.bench.cpu import Seconds
from scripts.bench.lags import HopLag
from scripts.bench.measure import Bench
from scripts.bench.report import Rows, rich_table
from scripts.bench.results import Load, Profile
from scripts.bench.tails import read_hop_lags
from shared.runtime.clock import wall_clock

_SAMPLE = 20_000
_SHOWN = 15


def profile(bench: Bench, load: Load) -> Profile:
    """Offer a load and look.

    Raises:
        ChainError: if a process of the chain ended by itself.
        KafkaException: if the brokers do not answer.
        TimeoutError: if the topics could not be read back in time.
    """
    java = threads.jvm(bench.chain.roots)
    before = threads.thread_seconds(java) if java else {}
    start_ms, began = wall_clock(), time.monotonic()
    run = bench.run(load, lead_seconds=0)
    elapsed = time.monotonic() - began
    busy: Seconds = {}
    if java:
        names = threads.thread_names(java)
        busy = threads.by_kind(before, threads.thread_seconds(java), names, elapsed)
    every = max(1, round(load.rate * load.seconds / _SAMPLE))
    hops = read_hop_lags(bench.chain.side.bootstrap, start_ms, every=every)
    return Profile(run=run, hops=hops, threads=busy)


def show(console: Console, found: Profile) -> None:
    """Print a profile."""
    console.print(rich_table(f"lag by hop, ms, {found.run.load.label}", hop_rows(found.hops)))
    console.print(rich_table("CPU seconds per million events", _share_rows(found.run.cpu_per_million, "s")))
    if found.threads:
        console.print(rich_table("threads of the Spark JVM", _share_rows(found.threads, "% of a core")))


def hop_rows(hops: list[HopLag]) -> Rows:
    """One row for each step of the way."""
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
