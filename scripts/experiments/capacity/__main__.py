"""`python -m scripts.experiments.capacity`: what a side needs for a rate and for a burst, by a model.

Without a subcommand it starts nothing: it fits the model to the points in `facts.json` and prints its tables.
`measure` makes new points on this machine, which `--points` adds.
"""

import os
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Annotated, Final, TypeVar

import msgspec
import typer

from scripts.experiments.capacity.burst import Burst
from scripts.experiments.capacity.cpu_limit import placement
from scripts.experiments.capacity.measure import Setting, joined, measure
from scripts.experiments.capacity.points import FACTS, Measured, read_facts, with_points
from scripts.experiments.capacity.prediction import predict
from scripts.experiments.capacity.reporting.report import tables
from scripts.experiments.capacity.reporting.text_tables import markdown, rich_table
from scripts.experiments.capacity.sizes import BATCH
from scripts.experiments.harness.output import say, writable, write_json
from scripts.experiments.harness.rating import SearchPlan
from scripts.experiments.harness.runs import Load
from scripts.experiments.harness.search import SearchRange
from scripts.local.processes.profile import SideProfile
from scripts.terminal import out as console
from scripts.terminal import run_command
from shared.runtime.errors import UsageError

RATES: Final = "10000,100000,1000000"
_WARM_UP_SECONDS: Final = 120.0
_SEARCH_SECONDS: Final = 1_800.0

T = TypeVar("T", int, float)
APP = typer.Typer(add_completion=False)


@APP.callback(invoke_without_command=True)
def show(  # noqa: PLR0913, PLR0917 - one parameter an option
    context: typer.Context,
    rates: Annotated[str, typer.Option(help="Events per second, separated by commas.")] = RATES,
    times: Annotated[float, typer.Option(min=1, help="Peak of the burst to the rate before it.")] = 50.0,
    rise: Annotated[float, typer.Option(min=1, help="Seconds in which the burst rises.")] = 120.0,
    facts: Annotated[Path, typer.Option(help="JSON file of points, times, settings and prices.")] = FACTS,
    points: Annotated[list[Path] | None, typer.Option(help="JSON file that `measure` wrote.")] = None,
    out: Annotated[Path | None, typer.Option(help="JSON file of all predictions.")] = None,
    markdown_file: Annotated[
        Path | None, typer.Option("--markdown", help="File to which the tables are written, as Markdown.")
    ] = None,
) -> None:
    """Predict rating, sizes, dollars and bursts, and check the model against its points."""
    if context.invoked_subcommand:
        return
    known = with_points(read_facts(facts), points or [])
    found = predict(known, numbers("--rates", rates, float), Burst(times=times, rise=rise))
    for table in tables(found, known):
        console().print(rich_table(table))
    if out:
        write_json(out, found)
    if markdown_file:
        markdown_file.write_text(markdown(tables(found, known)), encoding="utf-8")


@APP.command("measure")
def measure_points(  # noqa: PLR0913, PLR0917 - one parameter an option
    cores: Annotated[str, typer.Option(help="Cores of the side; 1.5 needs a cgroup.")] = "1,2",
    partitions: Annotated[str, typer.Option(help="Partitions of each busy topic.")] = "1",
    pipes: Annotated[str, typer.Option(help="Pipes that each event goes through.")] = "1",
    step: Annotated[int, typer.Option(min=1, help="Events per second between two rates.")] = 1_000,
    start: Annotated[int, typer.Option(min=1, help="The first rate, events per second.")] = 4_000,
    highest: Annotated[int, typer.Option(min=1, help="The highest rate, events per second.")] = 40_000,
    hold: Annotated[float, typer.Option(min=1, help="Seconds that a rating is held.")] = 60.0,
    probe: Annotated[float, typer.Option(min=1, help="Seconds of the trials before.")] = 20.0,
    parts: Annotated[SideProfile, typer.Option(help="Programs of the side.")] = SideProfile.CHAIN,
    out: Annotated[Path, typer.Option(callback=writable, help="JSON file of points and ratings.")] = Path(
        "points.json"
    ),
) -> None:
    """Measure the rating and CPU by part of a new side for each combination, within limits of CPU."""
    search = SearchPlan(
        bounds=search_range(step, start, highest),
        batch=BATCH,
        probe_seconds=probe,
        hold_seconds=hold,
        search_seconds=_SEARCH_SECONDS,
    )
    available = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
    settings = [
        Setting(
            cores=share,
            placed=placement(share, available),
            partitions=spread,
            pipes=copies,
            warm_up=Load(rate=start, batch=BATCH, seconds=_WARM_UP_SECONDS),
            search=search,
            parts=parts,
        )
        for share, spread, copies in product(
            numbers("--cores", cores, float),
            numbers("--partitions", partitions, int),
            numbers("--pipes", pipes, int),
        )
    ]
    found: list[Measured] = []
    for setting in settings:
        found.append(measure(setting))
        write_json(out, joined(found))  # an interruption loses only the current side
        say(f"{setting.label}: {msgspec.json.encode(found[-1].ratings).decode()}")


def search_range(step: int, start: int, highest: int) -> SearchRange:
    """The range of the search.

    Raises:
        UsageError: if it cannot be covered in steps.
    """
    try:
        return SearchRange(step=step, start=start, highest=highest)
    except ValueError as error:
        raise UsageError(f"--step {step}, --start {start}, --highest {highest}: {error}") from error


def numbers(option: str, text: str, kind: Callable[[str], T]) -> list[T]:
    """Numbers above 0 in a text, separated by commas.

    Raises:
        UsageError: names the option and the text that is none.
    """
    found = []
    for part in text.split(","):
        try:
            number = kind(part)
        except ValueError:
            number = kind("0")
        if not 0 < number < float("inf"):
            raise UsageError(
                f"{option}: {part!r} is not a number above 0", "separate numbers by commas, as in 1,2"
            )
        found.append(number)
    return found


if __name__ == "__main__":
    run_command(APP)
