"""`hifi demo`."""

from pathlib import Path
from typing import Annotated

import typer
import uvloop
from rich.console import Console

from scripts.cli.commands.options import DATA_DEFAULT, Data
from scripts.cli.commands.up import described
from scripts.demo.run import DemoOptions, run_demo
from scripts.local.addresses import PORTS
from scripts.local.client.connection import console_url
from scripts.local.lock import holder
from scripts.local.processes.profile import SideProfile
from scripts.local.processes.stopping import stop_signals_interrupt
from scripts.local.progress import Progress
from scripts.local.services import early, start_profile
from scripts.local.up import brokers_up
from scripts.local.warmup.warmup import WarmUpLimits
from scripts.terminal import REFUSED
from shared.runtime.errors import OperatorError


def demo(  # noqa: PLR0913, PLR0917 one a command-line option
    seconds: Annotated[float, typer.Option(min=1, help="Seconds for which events are sent.")] = 60,
    rate: Annotated[float, typer.Option(min=1, help="Events per second.")] = 1000,
    batch: Annotated[int, typer.Option(min=1, max=10_000, help="Events in a request.")] = 10,
    events: Annotated[
        Path | None,
        typer.Option(
            help="File of events to send repeatedly with new ids and times: NDJSON or JSON, plain or gzip."
        ),
    ] = None,
    data: Data = DATA_DEFAULT,
    port: Annotated[
        int | None,
        typer.Option(envvar="HIFI_PORT", help=f"First of {PORTS} ports. [default: as before, or 8080]"),
    ] = None,
) -> None:
    """Demonstrate hifi: start a side, configure it, send events, deliver them, and prove that none was lost.

    If a side runs in the folder, or twins do, it is used and left running; otherwise one is started, and
    stopped at the end. Exit status 0 only if nothing was lost.
    """
    wanted = DemoOptions(events=events, rate=rate, batch=batch, seconds=seconds)
    progress = Progress(Console())
    stop_signals_interrupt()
    try:
        good = _demo(data.resolve(), port, wanted, progress)
    except KeyboardInterrupt as error:
        raise OperatorError("interrupted before the load started") from error
    if not good:
        raise typer.Exit(REFUSED)


def _demo(root: Path, port: int | None, wanted: DemoOptions, progress: Progress) -> bool:
    if holder(root) is not None:
        progress.say(f"using what runs in {root}")
        progress.say(_watch(root))
        return uvloop.run(run_demo(root, progress, wanted))
    side = described(root, port, None)
    with brokers_up(side, progress, early=early(side, SideProfile.ALL)) as supervisor:
        start_profile(side, supervisor, SideProfile.ALL, progress, WarmUpLimits())
        progress.say(_watch(root))
        good = uvloop.run(run_demo(root, progress, wanted))
        stop_signals_interrupt()  # the event loop has replaced the signal handlers
    return good


def _watch(root: Path) -> str:
    return f"watch it: {console_url(root)}"
