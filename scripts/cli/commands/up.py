"""`hifi up`."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated, NamedTuple

import typer
from rich.console import Console

from scripts.cli.commands.options import DATA_DEFAULT, Data
from scripts.local.addresses import DEFAULT_PORT, PORTS
from scripts.local.processes.profile import SideProfile
from scripts.local.processes.spark_programs import WORKERS
from scripts.local.processes.stopping import stop_signals_interrupt
from scripts.local.progress import Progress
from scripts.local.services import early, open_chain, start_standby, warm_open_side
from scripts.local.side import DEFAULT_PARTITIONS, Side
from scripts.local.twins.place import Twins, are_twins
from scripts.local.twins.traffic import LocalTraffic
from scripts.local.twins.up import described_twins, start_twins, twins_up
from scripts.local.up import brokers_up, wait_until_stopped
from scripts.local.warmup.warmup import WARM_UP_SECONDS, WarmUpLimits
from shared.runtime.errors import UsageError


def up(  # noqa: PLR0913, PLR0917  # one for each option
    data: Data = DATA_DEFAULT,
    port: Annotated[
        int | None,
        typer.Option(
            envvar="HIFI_PORT",
            help=f"First of {PORTS} ports, which is collect's; of twins that for events. "
            "[default: the last one used, or 8080; of twins 8110]",
        ),
    ] = None,
    partitions: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=16,
            help="Partitions of the busy topics. [default: the last number used, or half the cores]",
        ),
    ] = None,
    parts: Annotated[SideProfile, typer.Option(help="Programs to start.")] = SideProfile.ALL,
    warm_up: Annotated[
        float,
        typer.Option(
            min=0,
            help="Most seconds of synthetic load before it is ready, as a cold side is slow. 0 only checks "
            "that an event passes through. A version that is released beside a side that serves has 2.5 "
            "times as long.",
        ),
    ] = WARM_UP_SECONDS,
    twins: Annotated[
        bool,
        typer.Option(
            "--twins", help="Two sides, blue and green, behind HAProxy; the one without traffic is parked."
        ),
    ] = False,
    standby: Annotated[
        bool,
        typer.Option(
            "--standby",
            help="A second Spark driver, which is warm and takes over when the first one ends. Needs 2 GiB "
            "more of memory.",
        ),
    ] = False,
    workers: Annotated[
        int,
        typer.Option(
            min=0,
            max=len(WORKERS),
            help="Run tasks in so many Spark workers beside the driver, as in AWS; `hifi scale` changes "
            "their number. Each needs 1.5 GiB of memory. 0 runs all tasks in the driver.",
        ),
    ] = 0,
) -> None:
    """Start the local side in the foreground, until Ctrl-C or `hifi down`."""
    progress = Progress(Console())
    stop_signals_interrupt()
    start = _run_twins if twins else _run_side
    try:
        start(_Wanted(data.resolve(), port, partitions, parts, warm_up, standby, workers), progress)
    except KeyboardInterrupt:
        progress.last_words("stopped")


class _Wanted(NamedTuple):
    """The options."""

    root: Path
    port: int | None
    partitions: int | None
    parts: SideProfile
    warm_up: float
    standby: bool
    workers: int


def _run_side(wanted: _Wanted, progress: Progress) -> None:
    if wanted.standby and wanted.parts is SideProfile.BROKERS:
        raise UsageError("--standby needs a Spark driver: leave out --parts brokers")
    if wanted.workers and wanted.parts is SideProfile.BROKERS:
        raise UsageError("--workers needs a Spark driver: leave out --parts brokers")
    if wanted.workers and wanted.standby:
        raise UsageError("--standby is for a driver that runs all tasks itself: leave out --workers")
    side = replace(
        described(wanted.root, wanted.port, wanted.partitions),
        standby=wanted.standby,
        workers=wanted.workers,
    )
    with brokers_up(side, progress, wanted.parts, early(side, wanted.parts)) as supervisor:
        if wanted.parts is SideProfile.BROKERS:
            progress.say(f"[bold green]ready[/]  brokers: {side.bootstrap}")
        else:
            open_chain(side, supervisor, wanted.parts, progress)
            progress.say(_opened(side))
            if warm_open_side(side, supervisor, wanted.parts, progress, WarmUpLimits(seconds=wanted.warm_up)):
                progress.say(_warmed(side, wanted.parts))
        if side.standby:
            start_standby(side, supervisor, progress)
        wait_until_stopped(supervisor)


def _run_twins(wanted: _Wanted, progress: Progress) -> None:
    if wanted.standby:
        raise UsageError("--standby is for a side by itself: leave out --twins")
    if wanted.workers:
        raise UsageError("--workers is for a side by itself: leave out --twins")
    twins = described_twins(wanted.root, wanted.port, wanted.partitions, wanted.parts)
    with twins_up(twins, progress, wanted.warm_up) as supervisors:
        ready = start_twins(twins, supervisors, progress, wanted.warm_up)
        progress.say(_greeting_of(twins, "ready" if ready else "open"))
        wait_until_stopped(*supervisors.values())


def described(root: Path, port: int | None, partitions: int | None) -> Side:
    """The side in `root` as last described, with the options given; the number of partitions never falls.

    Raises:
        UsageError: if the folder belongs to twins.
    """
    if are_twins(root):
        raise UsageError(
            f"{root} belongs to twins: start them by `hifi up --twins --data {root}`, or name another --data"
        )
    before = Side.load(root) if (root / "side.json").exists() else None
    wanted = partitions or DEFAULT_PARTITIONS
    return Side(
        root=root,
        port=port or (before.port if before else DEFAULT_PORT),
        partitions=max(before.partitions, partitions or 1) if before else wanted,
    )


def _opened(side: Side) -> str:
    return f"""\
[bold green]open[/]   collect: {side.collect_url}/v1/events   brokers: {side.bootstrap}   logs: {side.logs}
management API: {side.api_url}   its token: {side.token_file}
Next, in another terminal:
  hifi receive --port 9000                     # a destination
  hifi apply scripts/samples/first.yaml        # a source, a destination, a pipe
  curl -i {side.collect_url}/v1/events -H 'Authorization: Bearer first-write-key' \\
       -H 'Content-Type: application/json' -d '{{"hello": "world"}}'
Ctrl-C or `hifi down` stops everything. Until the chain is warm, events take longer than a second."""


def _warmed(side: Side, profile: SideProfile) -> str:
    console = f"   console: {side.console_url}" if profile is SideProfile.ALL else ""
    return f"[bold green]ready[/]  the warm-up is over{console}"


def _greeting_of(twins: Twins, state: str) -> str:
    lines = [f"{side.name}: brokers {side.bootstrap}, logs {side.logs}" for side in twins.sides]
    if twins.profile is SideProfile.BROKERS:
        return "\n".join([f"[bold green]{state}[/]  brokers of two sides", *lines])
    edge, weights = twins.edge, LocalTraffic(twins).state().weights
    shares = ", ".join(f"{side} {share} %" for side, share in weights.items())
    lines += [
        f"console: {edge.console_url}",
        f"management API: {edge.api_url}   its token: {twins.sides[0].token_file}",
        "`hifi sides` shows both, `hifi switch` moves the traffic, Ctrl-C or `hifi down` stops everything.",
    ]
    return "\n".join([f"[bold green]{state}[/]  events: {edge.events_url}/v1/events   {shares}", *lines])
