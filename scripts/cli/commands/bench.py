"""`hifi bench`."""

import sys
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import msgspec
import typer
from rich.console import Console

from scripts.experiments.bench.machine import machine
from scripts.experiments.bench.plan import BATCH, BenchPlan, quick
from scripts.experiments.bench.profile import profile, show
from scripts.experiments.bench.report import markdown, rich_table, summary, tables
from scripts.experiments.bench.results import ChainFigures, Report, bounds
from scripts.experiments.bench.run import run_plan
from scripts.experiments.bench.running_side import attached
from scripts.experiments.harness.measure import Bench, destination_port, destination_url
from scripts.experiments.harness.output import report, say, writable, write_json
from scripts.experiments.harness.runs import Load
from scripts.local.jars import Jars, ensure_jars
from scripts.local.processes.profile import SideProfile
from scripts.local.processes.stopping import stop_signals_interrupt
from scripts.local.side import Side
from scripts.terminal import INTERRUPTED
from shared.runtime.jvm import java

_FILE_WIDTH = 140


def bench(  # noqa: PLR0913, PLR0917 - one parameter an option
    out: Annotated[
        Path | None, typer.Option(help="JSON file of all figures. [default: bench.json, or profile.json]")
    ] = None,
    markdown_file: Annotated[
        Path | None,
        typer.Option(
            "--markdown", callback=writable, help="File to which the tables are written, as Markdown."
        ),
    ] = None,
    quick_plan: Annotated[
        bool, typer.Option("--quick", help="Two minutes that show that it works; the figures mean little.")
    ] = False,
    repeats: Annotated[int, typer.Option(min=1, max=20, help="Runs of each rate.")] = BenchPlan().repeats,
    yardstick: Annotated[
        bool, typer.Option(help="Also measure the baseline: the hops as plain loops.")
    ] = True,
    rating: Annotated[bool, typer.Option(help="Search for the highest rate that is held.")] = True,
    parts: Annotated[
        SideProfile, typer.Option(help="Programs of hifi's side: all, or the chain without the meter.")
    ] = SideProfile.ALL,
    profile_of: Annotated[
        Path | None,
        typer.Option("--profile", metavar="DATA", help="Only profile the side running in DATA."),
    ] = None,
    rate: Annotated[int, typer.Option(min=1, help="For --profile: events per second.")] = 10_000,
    batch: Annotated[int, typer.Option(min=1, help="For --profile: events per request.")] = BATCH,
    seconds: Annotated[float, typer.Option(min=1, help="For --profile: seconds of load.")] = 20.0,
) -> None:
    """Measure lag, losses, CPU and rating of the chain on this machine, on new sides.

    Exit status 1 if an event was lost, if p95 of a load was over a second, or if more than 1 % of its events
    were not acknowledged or wait for a retry.
    """
    console = Console() if sys.stdout.isatty() else Console(width=_FILE_WIDTH)
    stop_signals_interrupt()
    try:
        if profile_of:
            load = Load(rate=rate, batch=batch, seconds=seconds)
            _profile(profile_of, load, _file(out, "profile.json"), console)
            return
        plan = quick() if quick_plan else BenchPlan(repeats=repeats)
        plan = msgspec.structs.replace(plan, parts=parts, yardstick=yardstick, rating=rating)
        _measure(plan, _file(out, "bench.json"), markdown_file, console)
    except KeyboardInterrupt as error:
        raise typer.Exit(INTERRUPTED) from error


def _file(out: Path | None, default: str) -> Path:
    chosen = out or Path(default)
    writable(chosen)
    return chosen


def _profile(data: Path, load: Load, out: Path, console: Console) -> None:
    port = destination_port()
    with attached(Side.load(data), destination_url(port)) as chain:
        found = profile(Bench(chain, port), load)
    show(console, found)
    write_json(out, found)


def _measure(plan: BenchPlan, out: Path, markdown_file: Path | None, console: Console) -> None:
    jars = ensure_jars(console.print)
    console.print(f"at most {plan.longest() / 60:.0f} minutes of measuring")
    found = _report(jars, plan)

    def done(target: ChainFigures) -> None:
        """Write the figures so far: an interruption loses only those of the current chain."""
        found.targets.append(target)
        write_json(out, found)
        if markdown_file:
            markdown_file.write_text(markdown(found), encoding="utf-8")

    with TemporaryDirectory(prefix="hifi-bench-") as folder:
        run_plan(plan, Path(folder), jars, say, done)
    for title, rows in tables(found):
        console.print(rich_table(title, rows))
    for line in summary(found):
        console.print(line, highlight=False)
    report(bounds(found.targets[0], plan.p95_ms))


def _report(jars: Jars, plan: BenchPlan) -> Report:
    started = datetime.now(UTC).isoformat(timespec="seconds")
    return Report(started=started, machine=machine(java(), jars.broker), parts=plan.parts, targets=[])
