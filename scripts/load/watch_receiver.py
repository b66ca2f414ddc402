"""A receiver with somebody watching."""

import asyncio

from rich.table import Table

from scripts.load.progress import Meter, ProgressLine, is_set_within, lag_text, on_signals
from scripts.load.receiver import Receiver
from scripts.terminal import err, out


async def watch_receiver(receiver: Receiver) -> None:
    """Receive until a signal comes, then print what arrived.

    Raises:
        OSError: if the port or the file is not to be had.
    """
    stopping, console = asyncio.Event(), err()
    with on_signals(stopping):
        async with receiver:
            console.print(f"[bold]receiving[/] at {receiver.url} (any path); Ctrl-C ends", soft_wrap=True)
            with ProgressLine(console) as ticker:
                meter = Meter()
                while not await is_set_within(stopping, ticker.seconds):
                    ticker.show(_line(receiver, meter.rate(receiver.arrivals)))
    out().print(_table(receiver))


def _line(receiver: Receiver, rate: float) -> str:
    parts = [f"[bold]{rate:,.0f}[/] events/s"]
    for path, tally in sorted(receiver.tallies.items()):
        lag = lag_text(tally.recent.take())
        parts.append(f"{path} [green]{tally.distinct:,}[/] (+{tally.duplicated:,} repeated), lag {lag}")
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
    for path, tally in sorted(receiver.tallies.items()):
        lag = tally.overall.snapshot()
        lags = ("-" if value is None else f"{value:,} ms" for value in (lag.p50, lag.p95, lag.p99))
        table.add_row(path, f"{tally.distinct:,}", f"{tally.duplicated:,}", *lags)
    return table
