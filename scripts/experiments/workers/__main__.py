"""`python -m scripts.experiments.workers`: what adding, killing and draining a Spark worker costs under load.

It runs on a side of its own that starts with one worker. Beside it, on the same brokers and with as many
partitions, plain consumer groups go through the same changes, so that both can be compared.
"""

import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer
from msgspec import Struct, structs
from rich.console import Console

from scripts.deployer.scaling import scaling
from scripts.experiments.harness.bounds import Bound
from scripts.experiments.harness.disturbance import BEFORE_SECONDS, Disturbance, disturbed
from scripts.experiments.harness.measure import destination_port, destination_url
from scripts.experiments.harness.output import report, say, to_json, writable, write_json
from scripts.experiments.harness.runs import Load
from scripts.experiments.harness.side import RunningChain, hifi
from scripts.experiments.harness.subprocesses import ChainError
from scripts.experiments.workers.groups import GroupRun, run_group
from scripts.experiments.workers.protocol import Change, Protocol
from scripts.local.executor.count import executor_count
from scripts.local.ports import free_base
from scripts.local.process_marks import kill, side_processes
from scripts.local.processes.profile import SideProfile
from scripts.local.processes.spark_programs import MASTER, SPARK
from scripts.local.processes.supervisor import Supervisor
from scripts.local.progress import Progress
from scripts.local.services import spark_ready
from scripts.local.side import Side
from scripts.local.workers import running_workers, scale
from scripts.terminal import run_command

_SETTLE_SECONDS = 20.0
_NOTICED_SECONDS = 5.0
"""Time after which a killed process no longer counts."""

_LATE_SECONDS = {Change.KILL_DRIVER: 45}
"""Without a standby; otherwise none, or as many as the best consumer group has in the same run."""

_READY_SECONDS = 300.0
"""Most seconds until the driver is at work again, and all executors with it."""

APP = typer.Typer(add_completion=False)


class Phase(Disturbance, frozen=True, kw_only=True):
    """One change of the workers under load."""

    change: Change


class WorkersRun(Struct, frozen=True, kw_only=True):
    """All figures of a run."""

    ready_seconds: float
    phases: list[Phase]
    groups: list[GroupRun]


@APP.command()
def run(  # noqa: PLR0913, PLR0917  # one for each option
    rate: Annotated[int, typer.Option(min=1, help="Single events per second.")] = 1_000,
    seconds: Annotated[float, typer.Option(min=30, help="Seconds of each load.")] = 240.0,
    group_seconds: Annotated[float, typer.Option(min=30, help="The same, of each group's.")] = 40.0,
    partitions: Annotated[int, typer.Option(min=1, help="Partitions of each topic.")] = 2,
    parts: Annotated[SideProfile, typer.Option(help="Programs of the side.")] = SideProfile.ALL,
    groups: Annotated[bool, typer.Option(help="Consumer groups beside it.")] = True,
    out: Annotated[Path, typer.Option(callback=writable, help="JSON file of all figures.")] = Path(
        "workers.json"
    ),
) -> None:
    """Measure lateness and losses around each change; exit status 1 if a bound is broken."""
    load, port = Load(rate=rate, batch=1, seconds=seconds), destination_port()
    with TemporaryDirectory(prefix="hifi-over-") as folder:
        side = Side(root=Path(folder, "side"), port=free_base(), workers=1, partitions=partitions)
        with hifi(side, destination_url(port), parts) as chain:
            phases = [_phase(chain, change, load, port) for change in Change]
            beside = [
                _reported(run_group(side.bootstrap, protocol, partitions, rate, group_seconds))
                for protocol in (Protocol if groups else ())
            ]
            found = WorkersRun(ready_seconds=chain.ready_seconds, phases=phases, groups=beside)
    write_json(out, found)
    report(list(_bounds(found)))


def _phase(chain: RunningChain, change: Change, load: Load, port: int) -> Phase:
    _settle(chain.side)
    changed = _Timed(lambda: _change(change, chain.side))
    found = disturbed(chain, load, port, changed.begin)
    if changed.seconds > load.seconds - BEFORE_SECONDS:
        raise ChainError(
            f"{change} took {changed.seconds:.0f} s and the load went on for {load.seconds:.0f} s: "
            f"give --seconds {changed.seconds + 2 * BEFORE_SECONDS:.0f}"
        )
    phase = Phase(change=change, **structs.asdict(found))
    say(to_json(phase).decode())
    return phase


class _Timed:
    """A timed change, from its beginning to the end of the rest of it."""

    def __init__(self, begin: Callable[[], Callable[[], None]]) -> None:
        self.seconds = 0.0
        self._begin = begin

    def begin(self) -> Callable[[], None]:
        """Begin it; returns the rest of it."""
        began = time.monotonic()
        rest = self._begin()

        def timed() -> None:
            rest()
            self.seconds = time.monotonic() - began

        return timed


def _settle(side: Side) -> None:
    """Wait until a driver and all executors are at work again, and then a little."""
    _wait_for_all(side)
    time.sleep(_SETTLE_SECONDS)


def _wait_for_loss_and_all(side: Side) -> None:
    time.sleep(_NOTICED_SECONDS)
    _wait_for_all(side)


def _wait_for_all(side: Side) -> None:
    deadline, supervisor = time.monotonic() + _READY_SECONDS, Supervisor(side)
    while not _all_at_work(side, supervisor):
        if time.monotonic() > deadline:
            raise ChainError(
                f"the driver and its executors are not ready after {_READY_SECONDS:.0f} s: see {side.logs}"
            )
        time.sleep(1)


def _all_at_work(side: Side, supervisor: Supervisor) -> bool:
    wanted = len(running_workers(supervisor))
    return spark_ready(side, supervisor) and executor_count(side.spark_url) == wanted


def _change(change: Change, side: Side) -> Callable[[], None]:
    """Begin a change of a side's workers; returns the rest of it."""
    supervisor = Supervisor(side)
    killed = {
        Change.KILL: running_workers(supervisor)[-1],
        Change.KILL_MASTER: MASTER,
        Change.KILL_DRIVER: SPARK,
    }
    if change in killed:
        kill(side_processes(side.root, killed[change]))
        return lambda: _wait_for_loss_and_all(side)
    wanted = len(running_workers(supervisor)) + (1 if change is Change.ADD else -1)
    # The change before was under way a moment ago, and has made the side unstable.
    registered = partial(scaling, side, forced=True)
    return lambda: scale(side, wanted, Progress(Console(stderr=True)), registered)


def _reported(run: GroupRun) -> GroupRun:
    say(to_json(run).decode())
    return run


def _bounds(found: WorkersRun) -> Iterator[Bound]:
    for phase in found.phases:
        beside = [
            each.lateness.late_seconds
            for group in found.groups
            for each in group.phases
            if each.change is phase.change
        ]
        yield Bound(what=f"{phase.change}: lost", figure=phase.delivery.lost, most=0, unit="events")
        yield Bound(
            what=f"{phase.change}: seconds with a p95 over 1 s",
            figure=phase.lateness.late_seconds,
            most=_LATE_SECONDS.get(phase.change, min(beside, default=0)),
            unit="s",
        )
    for group in found.groups:
        yield Bound(
            what=f"{group.protocol} group: records not read", figure=group.missing, most=0, unit="records"
        )


if __name__ == "__main__":
    run_command(APP)
