"""`hifi receive`."""

import asyncio
from pathlib import Path
from typing import Annotated

import typer
import uvloop
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from scripts.load.fault_injection import parse_rules
from scripts.load.progress import ProgressLine, RateMeter, is_set_within, lag_text, on_signals
from scripts.load.receiver import Receiver
from scripts.terminal import err, printable
from scripts.terminal import out as stdout
from shared.runtime.errors import OperatorError


def receive(
    port: Annotated[
        int, typer.Option("--port", "-p", min=0, max=65_535, help="Port to listen on; 0 picks a free one.")
    ] = 9000,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    out: Annotated[
        Path | None, typer.Option(help="Append `id, received_ms, lag_ms` of each arrival to this file (TSV).")
    ] = None,
    misbehave: Annotated[
        list[str] | None,
        typer.Option(
            "--misbehave",
            "-m",
            metavar="RULE",
            help="Fault; repeatable: 503=10%, 429:2s=5% (with Retry-After), delay:3s=5%, hang=1%, reset=1%.",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the random choice of requests with a fault.")] = 0,
) -> None:
    """Run a destination: accept events, record ids and lags, and inject faults on request.

    Accepts CloudEvents (batch, structured, binary), NDJSON and JSON arrays at any path. Ctrl-C or SIGTERM
    completes the file and ends it.
    """
    try:
        receiver = Receiver(port, host=host, out=out, misbehaviour=parse_rules(misbehave or []), seed=seed)
        uvloop.run(_receive(receiver))
    except OSError as error:
        if error.filename is not None:
            problem = f"{error.filename} cannot be written: {error.strerror}"
            raise OperatorError(problem, "name another --out") from error
        raise OperatorError(f"cannot receive on port {port}: {error.strerror or error}") from error


async def _receive(receiver: Receiver) -> None:
    """Receive until a signal comes, then print what arrived."""
    stopping, console = asyncio.Event(), err()
    with on_signals(stopping):
        async with receiver:
            console.print(f"[bold]receiving[/] at {receiver.url} (any path); Ctrl-C ends", soft_wrap=True)
            with ProgressLine(console) as line:
                meter = RateMeter()
                while not await is_set_within(stopping, line.seconds):
                    line.show(_line(receiver, meter.rate(receiver.arrivals)))
    stdout().print(_table(receiver))


def _line(receiver: Receiver, rate: float) -> str:
    parts = [f"[bold]{rate:,.0f}[/] events/s"]
    for path, counts in sorted(receiver.counts_by_path.items()):
        lag = lag_text(counts.recent.take())
        shown = escape(printable(path))
        parts.append(f"{shown} [green]{counts.distinct:,}[/] (+{counts.duplicated:,} repeated), lag {lag}")
    if receiver.requests.misbehaved:
        parts.append(f"misbehaved [yellow]{receiver.requests.misbehaved:,}[/]")
    if receiver.requests.unreadable:
        parts.append(f"unreadable [red]{receiver.requests.unreadable:,}[/]")
    return "  ".join(parts)


def _table(receiver: Receiver) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold dim", padding=(0, 3, 0, 0))
    table.add_column("PATH")
    for name in ("EVENTS", "REPEATED", "P50", "P95", "P99"):
        table.add_column(name, justify="right")
    for path, counts in sorted(receiver.counts_by_path.items()):
        lag = counts.overall.snapshot()
        lags = ("-" if value is None else f"{value:,} ms" for value in (lag.p50, lag.p95, lag.p99))
        table.add_row(Text(printable(path)), f"{counts.distinct:,}", f"{counts.duplicated:,}", *lags)
    return table
