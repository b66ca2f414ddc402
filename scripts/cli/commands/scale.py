"""`hifi scale`."""

from typing import Annotated

import typer
from rich.console import Console

from scripts.cli.commands.options import DATA_DEFAULT, Data
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
    data: Data = DATA_DEFAULT,
) -> None:
    """Add Spark workers to the local side, or drain some, while it delivers."""
    side, progress = Side.load(data), Progress(Console())
    stop_signals_interrupt()
    try:
        scale_workers(side, workers, progress)
    except KeyboardInterrupt as error:
        progress.last_words("interrupted: workers that were drained are stopped; `hifi scale` again goes on")
        raise typer.Exit(INTERRUPTED) from error
    running = running_workers(Supervisor(side))
    progress.say(f"[bold green]done[/]   Spark workers: {len(running)}")
