"""`hifi trial`: experiments on a running side."""

import signal
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer
from rich.console import RenderableType
from rich.table import Table

from scripts.cli.commands.options import DATA_DEFAULT, Data
from scripts.documents.topic import read_catalogue
from scripts.experiments.harness.bounds import Bound, check
from scripts.experiments.harness.output import report, say, to_json
from scripts.experiments.harness.pairs import ratios_text
from scripts.experiments.harness.percentiles import Quantiles
from scripts.experiments.outage import outage as outages
from scripts.experiments.outage import retry_cost as retry_costs
from scripts.local.client.connection import side_bootstrap
from scripts.local.side import Side
from scripts.local.warmup.warmup import is_warming
from scripts.terminal import out, plain_table
from shared.runtime.errors import OperatorError

GROUP = typer.Typer(no_args_is_help=True)
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@GROUP.callback()
def trial() -> None:
    """Run an experiment on the running local side: a destination goes down, or events need a retry."""


@GROUP.command()
def outage(  # noqa: PLR0913, PLR0917 - one parameter an option
    seconds: Annotated[float, typer.Option(min=1, help="Seconds for which it is down.")] = 600.0,
    rate: Annotated[int, typer.Option(min=1, help="Events per second, to each destination.")] = 200,
    others: Annotated[int, typer.Option(min=1, help="Destinations that stay up.")] = 4,
    before: Annotated[float, typer.Option(min=1, help="Seconds before, with all destinations up.")] = 60.0,
    after: Annotated[float, typer.Option(min=1, help="Seconds of load after it is up again.")] = 120.0,
    as_json: Json = False,
    data: Data = DATA_DEFAULT,
) -> None:
    """Stop a destination, start it again, and account for every event. The default takes 75 minutes.

    (Events wait an hour after their third attempt.) Exit status 1 if anything was lost, or if the events of
    the other destinations were late while it was down.
    """
    plan = outages.OutagePlan(rate=rate, steady=others, before=before, outage=seconds, after=after)
    with _ready(data) as (side, folder):
        found = outages.run(side, plan, folder, say)
    _print(found, _outage_tables(found), outages.bounds(found), as_json=as_json)


@GROUP.command()
def retry_cost(  # noqa: PLR0913, PLR0917 - one parameter an option
    rate: Annotated[int, typer.Option(min=1, help="Events per second.")] = 200,
    pairs: Annotated[int, typer.Option(min=1, help="Pairs of runs.")] = 5,
    seconds: Annotated[float, typer.Option(min=5, help="Seconds of each run.")] = 40.0,
    percent: Annotated[float, typer.Option(min=0, max=4, help="Percent of events that are delayed.")] = 1.0,
    as_json: Json = False,
    data: Data = DATA_DEFAULT,
) -> None:
    """Compare p95 with and without events that need a second attempt, in pairs of runs.

    Exit status 1 if anything was lost, or if p95 was more than 25 % higher in the median of the pairs.
    """
    plan = retry_costs.RetryCostPlan(rate=rate, pairs=pairs, seconds=seconds, percent=percent)
    with _ready(data) as (side, folder):
        found = retry_costs.run(side, plan, folder, say)
    ratios = f"p95 with {percent:g} % delayed: {ratios_text(pair.ratio for pair in found.pairs)}"
    _print(found, (_retry_cost_table(found), ratios), retry_costs.bounds(found), as_json=as_json)


@contextmanager
def _ready(data: Path) -> Iterator[tuple[Side, Path]]:
    """The running, warm side, and a temporary folder."""
    if is_warming(read_catalogue(side_bootstrap(data))):
        raise OperatorError(
            f"the side in {data} is still warming up, so figures would mean little",
            "wait until `hifi up` is ready",
        )
    signal.signal(
        signal.SIGTERM, signal.default_int_handler
    )  # so that the load ends and the documents are deleted
    with TemporaryDirectory(prefix="hifi-trial-") as folder:
        yield Side.load(data), Path(folder)


def _print(
    found: object, tables: Iterable[RenderableType], bounds: Sequence[Bound], *, as_json: bool
) -> None:
    """Print the figures, and fail if a bound is broken; the JSON goes alone to stdout."""
    if as_json:
        typer.echo(to_json(found), nl=False)
        check(bounds)
        return
    for table in tables:
        out().print(table)
    report(bounds)


def _outage_tables(found: outages.OutageResult) -> Iterator[Table]:
    fates = plain_table("DESTINATION", "ACKNOWLEDGED", "ARRIVED", "WAITING", "LOST", "TWICE", "HANDED ON")
    for name, fate in found.fates.items():
        lost, handed_on = len(fate.lost), found.handed_on[name]
        counts = (fate.acked, fate.received, fate.waiting, lost, fate.duplicated, handed_on)
        fates.add_row(name, *(f"{count:,}" for count in counts))
    yield fates
    lags = plain_table("THE OTHERS", "EVENTS", "P50 MS", "P95 MS", "P99 MS")
    for phase, lag in found.lags.items():
        lags.add_row(phase, *_columns(lag))
    yield lags
    drain = plain_table("BACKLOG", "LEFT WITHIN S", "MOST A SECOND", "MEDIAN A SECOND")
    figures = (
        found.drain.events,
        found.drain.seconds,
        found.drain.most_a_second,
        found.drain.median_a_second,
    )
    drain.add_row(*(f"{figure:,.0f}" for figure in figures))
    yield drain


def _retry_cost_table(found: retry_costs.RetryCostResult) -> Table:
    table = plain_table("PAIR", "RUN", "LATER", "EVENTS", "P50 MS", "P95 MS", "P99 MS", "LOST")
    for number, pair in enumerate(found.pairs, 1):
        for name, one in (("well", pair.well), ("delayed", pair.delayed)):
            table.add_row(str(number), name, f"{one.later:.2%}", *_columns(one.lag), str(one.lost))
    return table


def _columns(lag: Quantiles | None) -> tuple[str, ...]:
    if lag is None:
        return ("0", "-", "-", "-")
    return (f"{lag.count:,}", *(f"{figure:,.0f}" for figure in (lag.p50, lag.p95, lag.p99)))
