"""Senders and receivers with somebody watching: a live line, signals, a summary."""

import asyncio
import contextlib
import signal
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TextIO

from msgspec import Struct
from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from scripts.console import err, out
from scripts.load.lags import LagSnapshot
from scripts.load.receiver import Receiver
from scripts.load.records import acked_lines
from scripts.load.schedule import Schedule
from scripts.load.sender import Sender
from scripts.load.supply import Supply

_TERMINAL_SECONDS = 0.5
_LOG_SECONDS = 5.0
_GRACE_SECONDS = 10.0


class Load(Struct, frozen=True, kw_only=True):
    """What `hifi send` was asked for."""

    url: str
    key: str
    supply: Supply
    schedule: Schedule
    connections: int
    patience: float
    acked: Path | None


class Ticker:
    """One line that is kept up to date on a terminal, and printed now and then elsewhere."""

    def __init__(self, console: Console) -> None:
        self._live = (
            Live(console=console, transient=True, auto_refresh=False) if console.is_terminal else None
        )
        self._console = console
        self.seconds = _TERMINAL_SECONDS if self._live else _LOG_SECONDS

    def __enter__(self) -> "Ticker":
        if self._live:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live:
            self._live.stop()

    def show(self, line: str) -> None:
        """Show a line in rich's markup."""
        if self._live:
            self._live.update(Text.from_markup(line), refresh=True)
        else:
            self._console.print(line, soft_wrap=True)


@contextlib.contextmanager
def on_signals(stopping: asyncio.Event) -> Iterator[None]:
    """Set the event at SIGINT and SIGTERM instead of dying."""
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopping.set)
    try:
        yield
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)


async def watch_receiver(receiver: Receiver) -> None:
    """Receive until a signal comes.

    Raises:
        OSError: if the port or the file is not to be had.
    """
    stopping = asyncio.Event()
    console = err()
    with on_signals(stopping):
        async with receiver:
            console.print(f"[bold]receiving[/] at {receiver.url} (any path); Ctrl-C ends")
            with Ticker(console) as ticker:
                meter = Meter()
                while not await _soon(stopping, ticker.seconds):
                    ticker.show(_receiver_line(receiver, meter.rate(receiver.arrivals)))
    out().print(_receiver_table(receiver))


async def watch_sender(load: Load) -> bool:
    """Send a load; whether every event was acknowledged.

    Raises:
        OSError: if the file of acknowledged ids cannot be written.
    """
    with contextlib.ExitStack() as stack:
        file = (
            stack.enter_context(load.acked.open("a", encoding="utf-8", newline="\n")) if load.acked else None
        )
        sender = Sender(
            load.url,
            load.key,
            load.supply,
            load.schedule,
            connections=load.connections,
            patience=load.patience,
            on_acked=lambda ids, _, acked_ms: _write(file, ids, acked_ms),
        )
        begin = time.monotonic()
        await _run_watched(sender)
    out().print(_sender_table(sender, time.monotonic() - begin))
    counts = sender.counts
    if counts.hopeless:
        err().print(Text.assemble(("stopped ", "bold red"), f"collect answered {counts.hopeless}"))
    return counts.refused == 0 and counts.unacknowledged == 0 and counts.acked == counts.sent


def _write(file: TextIO | None, ids: Sequence[str], acked_ms: int) -> None:
    if file:
        file.write(acked_lines(ids, acked_ms))
        file.flush()  # whoever kills this process wants to know what was acknowledged


async def _run_watched(sender: Sender) -> None:
    stopping, meter = asyncio.Event(), Meter()
    sending = asyncio.create_task(sender.run())
    sending.add_done_callback(lambda _: stopping.set())
    with on_signals(stopping), Ticker(err()) as ticker:
        while not await _soon(stopping, ticker.seconds):
            ticker.show(_sender_line(sender, meter.rate(sender.counts.acked)))
    if not sending.done():
        sender.stop()
        await asyncio.wait([sending], timeout=_GRACE_SECONDS)
        sending.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await sending


class Meter:
    """Events per second since the last look."""

    def __init__(self) -> None:
        self._count, self._at = 0, time.monotonic()

    def rate(self, count: int) -> float:
        """The rate, given how many there were in all."""
        now = time.monotonic()
        rate = (count - self._count) / max(now - self._at, 1e-6)
        self._count, self._at = count, now
        return rate


async def _soon(event: asyncio.Event, seconds: float) -> bool:
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(event.wait(), seconds)
    return event.is_set()


def _sender_line(sender: Sender, rate: float) -> str:
    counts = sender.counts
    parts = [
        f"[bold]{rate:,.0f}[/] events/s",
        f"sent {counts.sent:,}",
        f"acknowledged [green]{counts.acked:,}[/]",
    ]
    if counts.refused:
        parts.append(f"refused [red]{counts.refused:,}[/]")
    if sender.retries:
        parts.append(f"tried again [yellow]{sender.retries.total():,}[/]")
    return "  ".join(parts)


def _receiver_line(receiver: Receiver, rate: float) -> str:
    parts = [f"[bold]{rate:,.0f}[/] events/s"]
    for path, tally in sorted(receiver.tallies.items()):
        lag = tally.recent.take()
        parts.append(
            f"{path} [green]{tally.distinct:,}[/] (+{tally.duplicated:,} repeated), lag {lag_text(lag)}"
        )
    if receiver.requests.misbehaved:
        parts.append(f"misbehaved [yellow]{receiver.requests.misbehaved:,}[/]")
    return "  ".join(parts)


def lag_text(lag: LagSnapshot) -> str:
    """`p50 12 ms, p95 40 ms`, or a dash."""
    return f"p50 {lag.p50} ms, p95 {lag.p95} ms" if lag.count else "-"


def _facts() -> Table:
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(style="dim")
    table.add_column()
    return table


def _sender_table(sender: Sender, seconds: float) -> Table:
    table, counts = _facts(), sender.counts
    table.add_row(
        "sent", f"{counts.sent:,} events in {seconds:.1f} s ({counts.sent / seconds:,.0f} events/s)"
    )
    table.add_row("acknowledged", f"[green]{counts.acked:,}[/]")
    table.add_row("refused", f"[{'red' if counts.refused else 'dim'}]{counts.refused:,}[/]")
    for reason, count in sender.refusals.most_common(5):
        table.add_row("", Text(f"{count:,} x {reason}"))
    table.add_row(
        "unacknowledged", f"[{'red' if counts.unacknowledged else 'dim'}]{counts.unacknowledged:,}[/]"
    )
    for reason, count in sender.retries.most_common(5):
        table.add_row("tried again", f"{count:,} requests after {reason}")
    table.add_row("answer time", lag_text(sender.answer_times.snapshot()))
    behind = sender.behind.snapshot()
    if sender.schedule_rate and behind.p95 is not None and behind.p95 > 100:
        table.add_row("behind", f"[yellow]{lag_text(behind)}[/]: this rate was not kept")
    return table


def _receiver_table(receiver: Receiver) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold dim", padding=(0, 3, 0, 0))
    for name in ("PATH", "EVENTS", "REPEATED", "P50", "P95", "P99"):
        table.add_column(name, justify="left" if name == "PATH" else "right")
    for path, tally in sorted(receiver.tallies.items()):
        lag = tally.overall.snapshot()
        lags = ("-" if value is None else f"{value} ms" for value in (lag.p50, lag.p95, lag.p99))
        table.add_row(path, f"{tally.distinct:,}", f"{tally.duplicated:,}", *lags)
    return table
