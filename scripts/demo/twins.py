"""The demo on two sides: a switch and a restart of the dark side's brokers, while events flow.

`python -m scripts.demo.twins` starts two sides in a folder, or uses those that run there.
"""

import argparse
import asyncio
import os
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import uvloop
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.text import Text

from scripts.demo.account import EVERYTHING
from scripts.demo.configure import apply_sample
from scripts.demo.load import Demo, DemoLoad, wait_until_live
from scripts.demo.screen import DemoState, line, live_table, summary
from scripts.deployer.client import DeployerClient
from scripts.deployer.view import sides_view
from scripts.load.progress import on_signals
from scripts.load.receiver import Receiver
from scripts.load.run_id import new_run_id
from scripts.load.telemetry import Telemetry
from scripts.local.lock import holder
from scripts.local.processes.profile import SideProfile
from scripts.local.processes.programs import BROKERS
from scripts.local.processes.supervisor import Supervisor
from scripts.local.progress import Progress
from scripts.local.side import Side
from scripts.local.twins.place import Twins
from scripts.local.twins.up import described_twins, start_twins, twins_up
from scripts.local.up import stop_signals_interrupt
from scripts.local.warmup.warmup import WARM_UP_SECONDS
from scripts.scorecard.observe_client import ObserveError, query_observe
from scripts.terminal import REFUSED, run_command
from shared.contracts.releases import Kind, Release, Step
from shared.contracts.scorecard import DayCard
from shared.kafka.admin import wait_in_sync
from shared.runtime.clock import wall_clock
from shared.runtime.errors import OperatorError

_FOLDER: Final = Path(".hifi-twins")
_TENANT: Final = "demo"
_RATE: Final = 200.0
_MOST_SECONDS: Final = 3_600.0
_STEADY_SECONDS: Final = 15.0
_SWITCH_SECONDS: Final = 1_200.0
_LOOK_SECONDS: Final = 1.0
_SHOW_SECONDS: Final = 5.0
_BAKE: Final = "HIFI_BAKE_MINUTES"


class _StoppedError(Exception):
    """The demo is over."""


class Story:
    """What happens to the sides while events flow, in a thread of its own."""

    def __init__(self, twins: Twins) -> None:
        self._twins, self._client = twins, DeployerClient(twins.root, wall_clock)
        self._spent: dict[str, set[int]] = {side.name: set() for side in twins.sides}
        self.chapter = "events flow through one side"
        self.problem: OperatorError | None = None
        self._stopped = threading.Event()

    @property
    def spent(self) -> int:
        """Minutes of the demo's customer that broke a promise, on either side."""
        return len(set().union(*self._spent.values()))

    def sides(self) -> RenderableType:
        """Both sides as the deployer sees them."""
        return sides_view(self._client.look(0).sides)

    def run(self) -> None:
        """Wait a little, switch, restart the dark side's brokers one by one, wait a little."""
        try:
            self._steady()
            self._switch()
            self._restart_brokers()
            self._steady()
            self._look()
        except _StoppedError:
            return
        except OperatorError as error:
            self.problem = error

    def stop(self) -> None:
        """Let it end at its next pause."""
        self._stopped.set()

    def _pause(self) -> None:
        self._look()
        if self._stopped.wait(_LOOK_SECONDS):
            raise _StoppedError

    def _steady(self) -> None:
        until = time.monotonic() + _STEADY_SECONDS
        while time.monotonic() < until:
            self._pause()

    def _switch(self) -> None:
        asked = self._client.ask(Kind.SWITCH)
        release, until = asked, time.monotonic() + _SWITCH_SECONDS
        while not release.ended:
            self._pause()
            release = self._client.current() or release
            self.chapter = _said(release)
            if time.monotonic() > until:
                raise OperatorError(f"not switched within {_SWITCH_SECONDS:.0f} s: {self.chapter}")
        if release.step is not Step.DONE:
            raise OperatorError(
                f"the switch was undone: {release.back}", "`hifi sides --releases 1` shows why"
            )

    def _restart_brokers(self) -> None:
        light = Side.load(self._twins.root).name
        dark = next(side for side in self._twins.sides if side.name != light)
        supervisor = Supervisor(dark)
        for broker in BROKERS:
            self.chapter = f"{broker} of {dark.name} is restarted, as for a patch"
            supervisor.stop_program(broker)
            supervisor.start_program(broker)
            wait_in_sync(dark.bootstrap)
            self._pause()

    def _look(self) -> None:
        """Ask each side that runs for the day's spent minutes; a parked one is known from before."""
        day = datetime.now(UTC).strftime("%Y-%m-%d")
        for side in self._twins.sides:
            with suppress(ObserveError):
                card = query_observe(side.observe_url, f"/v1/days/{day}", DayCard, tenant=_TENANT)
                self._spent[side.name] |= {each.minute for each in card.spent}


def _said(release: Release) -> str:
    waits = f"; waits: {release.waits[0]}" if release.waits else ""
    return f"switch to {release.target or 'the dark side'}: {release.step} {release.said}{waits}"


async def run_twins_demo(twins: Twins, progress: Progress, rate: float) -> bool:
    """Send events to the twins' one port until the story is over; returns whether nothing was lost.

    Raises:
        OperatorError: if a side does not deliver, or the switch is undone.
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
            supply=telemetry,
            kind_of=telemetry.kind_of,
            rate=rate,
            batch=1,
            seconds=_MOST_SECONDS,
        )
        receiver.counts(EVERYTHING.path)
        with on_signals(stopping), Live(console=console, auto_refresh=False) as live:
            demo = Demo(plan, receiver, lambda moment: _show(live, story, moment), _SHOW_SECONDS)
            _begin(story, stopping)
            await demo.run(stopping)
            story.stop()
        results = demo.results()
        totals = await asyncio.to_thread(demo.totals, results)
    console.print(summary(totals, results))
    doubled = sum(each.duplicated for each in results)
    console.print(f"lost {totals.lost:,}, doubled {doubled:,}, minutes spent {story.spent}")
    if story.problem is not None:
        raise story.problem
    return totals.good


def _begin(story: Story, stopping: asyncio.Event) -> None:
    """Run the story in a thread that keeps no process from ending; at its end the load ends too."""
    loop = asyncio.get_running_loop()

    def run() -> None:
        story.run()
        with suppress(RuntimeError):  # the loop has ended
            loop.call_soon_threadsafe(stopping.set)

    threading.Thread(target=run, name="story", daemon=True).start()


def _show(live: Live, story: Story, moment: DemoState) -> None:
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
        start_twins(twins, supervisors, progress, warm_up_seconds)
        progress.say(f"watch it: {twins.edge.console_url}, or `hifi sides --data {root}`")
        good = uvloop.run(run_twins_demo(twins, progress, rate))
        stop_signals_interrupt()  # the event loop has replaced the signal handlers
    return good


def main(arguments: Sequence[str]) -> None:
    """Run it; ends the process with status 1 if an event was lost."""
    parser = argparse.ArgumentParser(prog="scripts.demo.twins", description=__doc__)
    parser.add_argument("--data", type=Path, default=_FOLDER, help="folder of the twins")
    parser.add_argument("--port", type=int, help="first of their ports")
    parser.add_argument("--rate", type=float, default=_RATE, help="events per second")
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
