"""`hifi scale`."""

from functools import partial
from typing import Annotated

import typer
from rich.console import Console

from scripts.cli.commands.options import DATA_DEFAULT, Data
from scripts.deployer.scaling import scaling
from scripts.local.processes.spark_programs import WORKERS
from scripts.local.processes.stopping import stop_signals_interrupt
from scripts.local.processes.supervisor import Supervisor
from scripts.local.progress import Progress
from scripts.local.side import Side
from scripts.local.workers import running_workers
from scripts.local.workers import scale as scale_workers
from scripts.terminal import INTERRUPTED


def scale(
    workers: Annotated[
        int, typer.Option("--workers", min=1, max=len(WORKERS), help="Number of Spark workers.")
    ],
    force: Annotated[
        bool,
        typer.Option(
            "--force", help="Drain though the side is not stable, or a release or maintenance is under way."
        ),
    ] = False,
    data: Data = DATA_DEFAULT,
) -> None:
    """Add Spark workers to the local side, or drain some, while it delivers.

    Releases, rollouts and maintenance wait meanwhile, and lag alarms stay quiet. Workers are drained only
    while the side is stable and no release or maintenance is under way; otherwise it says what it would have
    to wait for, and ends with status 1.
    """
    side, progress = Side.load(data), Progress(Console())
    stop_signals_interrupt()
    try:
        scale_workers(side, workers, progress, partial(scaling, side, forced=force))
    except KeyboardInterrupt as error:
        progress.last_words("interrupted: workers that were drained are stopped; `hifi scale` again goes on")
        raise typer.Exit(INTERRUPTED) from error
    running = running_workers(Supervisor(side))
    progress.say(f"[bold green]done[/]   Spark workers: {len(running)}")
