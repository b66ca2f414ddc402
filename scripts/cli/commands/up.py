"""`hifi up`."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from scripts.cli.commands.options import DATA_DEFAULT, Data
from scripts.local.processes.profile import SideProfile
from scripts.local.progress import Progress
from scripts.local.services import start_profile
from scripts.local.side import DEFAULT_PARTITIONS, DEFAULT_PORT, Side
from scripts.local.up import brokers_up, stop_signals_interrupt, wait_until_stopped
from scripts.local.warmup.warmup import WARM_UP_SECONDS


def up(
    data: Data = DATA_DEFAULT,
    port: Annotated[
        int | None,
        typer.Option(
            envvar="HIFI_PORT",
            help="First of sixteen ports, which is collect's. [default: the last one used, or 8080]",
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
            "that an event passes through.",
        ),
    ] = WARM_UP_SECONDS,
) -> None:
    """Start the local side in the foreground, until Ctrl-C or `hifi down`."""
    progress = Progress(Console())
    stop_signals_interrupt()
    try:
        side = described(data.resolve(), port, partitions)
        with brokers_up(side, progress, parts) as supervisor:
            start_profile(side, supervisor, parts, progress, warm_up)
            progress.say(_greeting(side, parts))
            wait_until_stopped(supervisor)
    except KeyboardInterrupt:
        progress.say("stopped")


def described(root: Path, port: int | None, partitions: int | None) -> Side:
    """The side in `root` as last described, with the options given; the number of partitions never falls."""
    before = Side.load(root) if (root / "side.json").exists() else None
    wanted = partitions or DEFAULT_PARTITIONS
    return Side(
        root=root,
        port=port or (before.port if before else DEFAULT_PORT),
        partitions=max(before.partitions, partitions or 1) if before else wanted,
    )


def _greeting(side: Side, profile: SideProfile) -> str:
    if profile is SideProfile.BROKERS:
        return f"[bold green]ready[/]  brokers: {side.bootstrap}"
    collect = f"[bold green]ready[/]  collect: {side.collect_url}/v1/events"
    console = f"   console: {side.console_url}" if profile is SideProfile.ALL else ""
    api = f"\nmanagement API: {side.api_url}   its token: {side.token_file}"
    return f"""\
{collect}   brokers: {side.bootstrap}   logs: {side.logs}{console}{api}
Next, in another terminal:
  hifi receive --port 9000                     # a destination
  hifi apply scripts/samples/first.yaml        # a source, a destination, a pipe
  curl -i {side.collect_url}/v1/events -H 'Authorization: Bearer first-write-key' \\
       -H 'Content-Type: application/json' -d '{{"hello": "world"}}'
Ctrl-C or `hifi down` stops everything."""
