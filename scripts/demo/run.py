"""Runs the demo on a running side."""

import asyncio
from pathlib import Path

from msgspec import Struct
from rich.console import Console
from rich.live import Live

from scripts.demo.account import EVERYTHING
from scripts.demo.configure import apply_sample
from scripts.demo.load import Demo, DemoLoad, wait_until_live
from scripts.demo.screen import DemoState, line, live_table, summary
from scripts.load.event_files import StampedEvents, raw_events
from scripts.load.event_source import EventSource
from scripts.load.progress import on_signals
from scripts.load.receiver import Receiver
from scripts.load.run_id import new_run_id
from scripts.load.telemetry import Telemetry
from scripts.local.client.connection import bootstraps, collect_url
from scripts.local.progress import Progress
from scripts.local.side import Side

_TERMINAL_SECONDS = 0.5
_LOG_SECONDS = 5.0


class DemoOptions(Struct, frozen=True, kw_only=True):
    """Options of `hifi demo`."""

    events: Path | None
    rate: float
    batch: int
    seconds: float


async def run_demo(root: Path, progress: Progress, wanted: DemoOptions) -> bool:
    """Configure the side or the twins in a folder, send the load, account; returns whether nothing was lost.

    Raises:
        OperatorError: if the side does not deliver or refuses the sample, or if the file cannot be read.
    """
    source, telemetry = _source(wanted.events)
    console, stopping = Console(highlight=False), asyncio.Event()
    async with Receiver() as receiver:
        with progress.step("applying scripts/samples/demo.yaml") as say:
            await asyncio.to_thread(apply_sample, Side.load(root), receiver.url, say)
        with progress.step("waiting until every node uses it"):
            await wait_until_live(collect_url(root), receiver)
        plan = DemoLoad(
            url=collect_url(root),
            bootstraps=bootstraps(root),
            source=source,
            kind_of=telemetry.kind_of if telemetry else None,
            rate=wanted.rate,
            batch=wanted.batch,
            seconds=wanted.seconds,
        )
        with on_signals(stopping):
            demo = await _watched(plan, receiver, console, stopping)
        results = demo.results()
        totals = await asyncio.to_thread(demo.totals, results)
    console.print(summary(totals, results))
    return totals.good


def _source(events: Path | None) -> tuple[EventSource, Telemetry | None]:
    if events is None:
        telemetry = Telemetry(new_run_id())
        return telemetry, telemetry
    return StampedEvents(list(raw_events(events)), new_run_id(), rounds=None), None


async def _watched(plan: DemoLoad, receiver: Receiver, console: Console, stopping: asyncio.Event) -> Demo:
    receiver.counts(EVERYTHING.path)
    if not console.is_terminal:
        demo = Demo(plan, receiver, lambda moment: console.print(line(moment), soft_wrap=True), _LOG_SECONDS)
        await demo.run(stopping)
        return demo
    with Live(console=console, auto_refresh=False) as live:

        def show(moment: DemoState) -> None:
            live.update(live_table(moment), refresh=True)

        demo = Demo(plan, receiver, show, _TERMINAL_SECONDS)
        await demo.run(stopping)
    return demo
