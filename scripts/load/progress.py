"""Progress of a load on the terminal: a live line, rates, and a clean end on signals."""

import asyncio
import contextlib
import signal
import time
from collections.abc import Iterator

from rich.console import Console
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from scripts.load.lags import LagSnapshot

_TERMINAL_SECONDS = 0.5
_LOG_SECONDS = 5.0
_BAR_WIDTH = 24


class ProgressLine:
    """A line that is updated in place on a terminal, and printed every few seconds elsewhere."""

    def __init__(self, console: Console) -> None:
        self._live = (
            Live(console=console, transient=True, auto_refresh=False) if console.is_terminal else None
        )
        self._console = console
        self.seconds = _TERMINAL_SECONDS if self._live else _LOG_SECONDS

    def __enter__(self) -> "ProgressLine":
        if self._live:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live:
            self._live.stop()

    def show(self, line: str, done: float | None = None) -> None:
        """Show a line in rich's markup; `done` is the share from 0 to 1, if known."""
        if self._live:
            self._live.update(Text.from_markup(line) if done is None else _with_bar(line, done), refresh=True)
        else:
            share = "" if done is None else f"{done:4.0%}  "
            self._console.print(share + line, soft_wrap=True)


def _with_bar(line: str, done: float) -> Table:
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_row(
        ProgressBar(total=1, completed=done, width=_BAR_WIDTH), Text(f"{done:4.0%}"), Text.from_markup(line)
    )
    return grid


class RateMeter:
    """Events per second since the last call."""

    def __init__(self) -> None:
        self._count, self._at = 0, time.monotonic()

    def rate(self, count: int) -> float:
        """The rate, from the total count so far."""
        now = time.monotonic()
        rate = (count - self._count) / max(now - self._at, 1e-6)
        self._count, self._at = count, now
        return rate


@contextlib.contextmanager
def on_signals(stopping: asyncio.Event) -> Iterator[None]:
    """Set the event at SIGINT and SIGTERM until the block ends; then restore their handlers."""
    loop = asyncio.get_running_loop()
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    for number in before:
        loop.add_signal_handler(number, stopping.set)
    try:
        yield
    finally:
        for number, handler in before.items():
            loop.remove_signal_handler(number)
            signal.signal(number, handler)


async def is_set_within(event: asyncio.Event, seconds: float) -> bool:
    """Wait at most so long for an event; returns whether it is set."""
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(event.wait(), seconds)
    return event.is_set()


def lag_text(lag: LagSnapshot) -> str:
    """`p50 12 ms, p95 40 ms`, or a dash."""
    return f"p50 {lag.p50:,} ms, p95 {lag.p95:,} ms" if lag.count else "-"
