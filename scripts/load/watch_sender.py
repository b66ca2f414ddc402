"""Runs a sender and shows its progress."""

import asyncio
import contextlib
import time
from collections.abc import Sequence
from enum import Enum, auto
from pathlib import Path
from typing import TextIO

from msgspec import Struct
from rich.table import Table
from rich.text import Text

from scripts.load.event_source import EventSource
from scripts.load.progress import ProgressLine, RateMeter, is_set_within, lag_text, on_signals
from scripts.load.records import acked_lines
from scripts.load.schedule import Schedule
from scripts.load.sender import Sender
from scripts.terminal import err, out, printable
from shared.runtime.errors import OperatorError

_GRACE_SECONDS = 10.0
_BEHIND_MS = 100


class SendResult(Enum):
    """How a load ended."""

    ALL_ACKNOWLEDGED = auto()
    NOT_ALL_ACKNOWLEDGED = auto()
    """Events were refused, or are not acknowledged."""

    INTERRUPTED = auto()
    """Ended by a signal before all events were sent."""


class AckedFileError(OperatorError):
    """The file of acknowledged ids cannot be opened."""


class SendOptions(Struct, frozen=True, kw_only=True):
    """Options of `hifi send`."""

    url: str
    key: str
    source: EventSource
    schedule: Schedule
    connections: int
    patience: float
    acked: Path | None
    total: int | None
    """Number of events, if known beforehand."""


async def watch_sender(load: SendOptions) -> SendResult:
    """Send a load and print its figures. One that lasts for a time may be interrupted: it has no rest.

    Raises:
        AckedFileError: if the file of acknowledged ids cannot be opened.
    """
    with contextlib.ExitStack() as stack:
        file = stack.enter_context(_opened(load.acked)) if load.acked else None
        sender = Sender(
            load.url,
            load.key,
            load.source,
            load.schedule,
            connections=load.connections,
            patience=load.patience,
            on_acked=lambda ids, _, acked_ms: _write(file, ids, acked_ms),
        )
        begin = time.monotonic()
        interrupted = await _run_watched(sender, load.total)
    out().print(_table(sender, time.monotonic() - begin))
    counts = sender.counts
    if counts.hopeless:
        err().print(Text.assemble(("stopped ", "bold red"), f"collect answered {printable(counts.hopeless)}"))
    if interrupted and load.schedule.seconds is None and counts.sent != load.total:
        err().print(_interrupted(counts.sent, load.total), soft_wrap=True)
        return SendResult.INTERRUPTED
    good = counts.refused == 0 and counts.unacknowledged == 0 and counts.acked == counts.sent
    return SendResult.ALL_ACKNOWLEDGED if good else SendResult.NOT_ALL_ACKNOWLEDGED


def _interrupted(sent: int, total: int | None) -> Text:
    of_all = "" if total is None else f" of {total:,}"
    rest = f": the file was not sent to its end, only its first {sent:,}{of_all} events"
    return Text.assemble(("interrupted", "bold red"), rest)


def _opened(path: Path) -> TextIO:
    try:
        return path.open("a", encoding="utf-8", newline="\n")
    except OSError as error:
        raise AckedFileError(f"{path} cannot be written: {error.strerror}", "name another --acked") from error


def _write(file: TextIO | None, ids: Sequence[str], acked_ms: int) -> None:
    if file:
        file.write(acked_lines(ids, acked_ms))
        file.flush()  # even if this process is killed, the file is complete


async def _run_watched(sender: Sender, total: int | None) -> bool:
    """Run it until it ends or a signal comes; returns whether it ended before its events did."""
    stopping, meter = asyncio.Event(), RateMeter()
    sending = asyncio.create_task(sender.run())
    sending.add_done_callback(lambda _: stopping.set())
    with on_signals(stopping), ProgressLine(err()) as line:
        while not await is_set_within(stopping, line.seconds):
            done = None if total is None else min(sender.counts.sent / max(total, 1), 1.0)
            line.show(_line(sender, meter.rate(sender.counts.acked)), done)
    if interrupted := not sending.done():
        sender.stop()
        await asyncio.wait([sending], timeout=_GRACE_SECONDS)
        sending.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await sending
    return interrupted and not sender.source_ended


def _line(sender: Sender, rate: float) -> str:
    counts = sender.counts
    parts = [
        f"[bold]{rate:,.0f}[/] events/s",
        f"sent {counts.sent:,}",
        f"acknowledged [green]{counts.acked:,}[/]",
    ]
    if counts.refused:
        parts.append(f"refused [red]{counts.refused:,}[/]")
    if sender.retries:
        parts.append(f"repeated [yellow]{sender.retries.total():,}[/]")
    return "  ".join(parts)


def _table(sender: Sender, seconds: float) -> Table:
    counts = sender.counts
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(style="dim")
    table.add_column()
    table.add_row(
        "sent", f"{counts.sent:,} events in {seconds:.1f} s ({counts.sent / seconds:,.0f} events/s)"
    )
    table.add_row("acknowledged", f"[green]{counts.acked:,}[/]")
    table.add_row("refused", _bad(counts.refused))
    for reason, count in sender.refusals.most_common(5):
        table.add_row("", Text(f"{count:,} x {printable(reason)}"))
    table.add_row("unacknowledged", _bad(counts.unacknowledged))
    for reason, count in sender.retries.most_common(5):
        table.add_row("repeated", f"{count:,} requests after {reason}")
    table.add_row("answer time", lag_text(sender.answer_times.snapshot()))
    behind = sender.behind.snapshot()
    if sender.schedule_rate and behind.p95 is not None and behind.p95 > _BEHIND_MS:
        table.add_row("behind", f"[yellow]{lag_text(behind)}[/]: this rate was not reached")
    return table


def _bad(count: int) -> Text:
    return Text(f"{count:,}", "bold red" if count else "dim")
