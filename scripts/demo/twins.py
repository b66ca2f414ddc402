"""The demo on two sides: a release, a patch of brokers and a switch, while events flow.

`python -m scripts.demo.twins` starts two sides in a folder, or uses those that run there.
"""

import argparse
import asyncio
import os
import sys
import threading
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import ClassVar, Final

import uvloop
from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from scripts.demo.account import EVERYTHING
from scripts.demo.configure import apply_sample
from scripts.demo.load import Demo, DemoLoad, wait_until_live
from scripts.demo.screen import DemoState, line, live_table, summary
from scripts.demo.twins_story import Story
from scripts.load.progress import on_signals
from scripts.load.receiver import Receiver
from scripts.load.run_id import new_run_id
from scripts.load.telemetry import Telemetry
from scripts.local.lock import holder
from scripts.local.processes.profile import SideProfile
from scripts.local.processes.stopping import stop_signals_interrupt
from scripts.local.progress import Progress
from scripts.local.side import Side
from scripts.local.twins.broker_restart import RESTART_SECONDS
from scripts.local.twins.place import Twins
from scripts.local.twins.up import described_twins, start_twins, twins_up
from scripts.local.warmup.warmup import WARM_UP_SECONDS
from scripts.terminal import INTERRUPTED, REFUSED, run_command
from shared.runtime.errors import OperatorError

_FOLDER: Final = Path(".hifi-twins")
RATE: Final = 200.0
_MOST_SECONDS: Final = 3_600.0
_SHOW_SECONDS: Final = 5.0
_BAKE: Final = "HIFI_BAKE_MINUTES"


class EndedEarlyError(OperatorError):
    """The story was not over when the demo had to end."""

    status: ClassVar[int] = INTERRUPTED


async def run_twins_demo(twins: Twins, progress: Progress, rate: float) -> bool:
    """Send events to the twins' one port until the story is over; returns whether nothing was lost.

    Raises:
        OperatorError: if a side does not deliver, or a release is undone.
        EndedEarlyError: if it is interrupted, or the story takes longer than the load.
    """
    story, stopping = Story(twins), asyncio.Event()
    console, telemetry = Console(highlight=False), Telemetry(new_run_id())
    async with Receiver() as receiver:
        with progress.step("applying scripts/samples/demo.yaml") as say:
            await asyncio.to_thread(apply_sample, Side.load(twins.root), receiver.url, say)
        with progress.step("waiting until every node uses it"):
            await wait_until_live(twins.edge.events_url, receiver)
        plan = DemoLoad(
            url=twins.edge.events_url,
            bootstraps=[side.bootstrap for side in twins.sides],
            source=telemetry,
            kind_of=telemetry.kind_of,
            rate=rate,
            batch=1,
            seconds=_MOST_SECONDS,
        )
        receiver.counts(EVERYTHING.path)
        with on_signals(stopping), Live(console=console, auto_refresh=False) as live:
            demo = Demo(plan, receiver, lambda moment: _show(live, story, moment), _SHOW_SECONDS)
            async with _running(story, stopping, live.console):
                await demo.run(stopping)
        results = demo.results()
        totals = await asyncio.to_thread(demo.totals, results)
    console.print(summary(totals, results))
    cold = story.doubled_cold
    doubled = sum(each.duplicated for each in results) - cold
    console.print(f"lost {totals.lost:,}, doubled {doubled:,}, minutes spent {story.spent}")
    if story.spent_cold or cold:
        before = f"{cold:,} doubled, {story.spent_cold} minutes spent"
        console.print(f"before, while the first side was not warm: {before}")
    if story.problem is not None:
        raise story.problem
    if not story.over:
        raise EndedEarlyError(f"ended before the story was over, at: {story.chapter}")
    return totals.good


@asynccontextmanager
async def _running(story: Story, stopping: asyncio.Event, console: Console) -> AsyncIterator[None]:
    """Run the story in a thread: at its end the load ends too, and leaving the block ends the story.

    That waits for a broker that is being restarted: one that stayed stopped, or a patch that was never ended,
    would hold up all releases.
    """
    loop = asyncio.get_running_loop()

    def run() -> None:
        story.run()
        with suppress(RuntimeError):  # the loop has ended
            loop.call_soon_threadsafe(stopping.set)

    async def stop() -> None:
        await stopping.wait()
        story.stop()

    thread = threading.Thread(target=run, name="story", daemon=True)
    thread.start()
    stopper = asyncio.create_task(stop())
    try:
        yield
    finally:
        stopper.cancel()
        story.stop()
        if thread.is_alive() and not story.over:
            console.print(f"waiting for the end of: {story.chapter}", soft_wrap=True)
        await asyncio.to_thread(thread.join, RESTART_SECONDS)


def _show(live: Live, story: Story, moment: DemoState) -> None:
    story.arrived(moment.lag.p95, moment.duplicated)
    if live.console.is_terminal:
        head = Text(story.chapter, style="bold")
        live.update(Group(head, story.sides(), live_table(moment)), refresh=True)
        return
    live.console.print(line(moment), soft_wrap=True)
    live.console.print(Text(f"        {story.chapter}", style="dim"), soft_wrap=True)


def _demo(root: Path, port: int | None, rate: float, warm_up_seconds: float) -> bool:
    progress = Progress(Console())
    if holder(root) is not None:
        return uvloop.run(run_twins_demo(Twins.load(root), progress, rate))
    os.environ.setdefault(_BAKE, "1")  # the deployer that is started waits no longer before it parks a side
    twins = described_twins(root, port, None, SideProfile.ALL)
    with twins_up(twins, progress, warm_up_seconds) as supervisors:
        if not start_twins(twins, supervisors, progress, warm_up_seconds):
            raise OperatorError("a side is not ready, the line above says why: it would spoil the figures")
        progress.say(f"watch it: {twins.edge.console_url}, or `hifi sides --data {root}`")
        try:
            good = uvloop.run(run_twins_demo(twins, progress, rate))
        finally:
            stop_signals_interrupt()  # the event loop has replaced the signal handlers
    return good


def main(arguments: Sequence[str]) -> None:
    """Run it; ends the process with status 1 if an event was lost, 130 if it was interrupted."""
    parser = argparse.ArgumentParser(prog="scripts.demo.twins", description=__doc__)
    parser.add_argument("--data", type=Path, default=_FOLDER, help="folder of the twins")
    parser.add_argument("--port", type=int, help="first of their ports")
    parser.add_argument("--rate", type=float, default=RATE, help="events per second")
    parser.add_argument("--warm-up", type=float, default=WARM_UP_SECONDS, help="most seconds of it, a side")
    given = parser.parse_args(arguments)
    stop_signals_interrupt()
    try:
        good = _demo(given.data.resolve(), given.port, given.rate, given.warm_up)
    except KeyboardInterrupt as error:
        raise OperatorError("interrupted before the load started") from error
    if not good:
        sys.exit(REFUSED)


if __name__ == "__main__":
    run_command(lambda: main(sys.argv[1:]))
