"""`python -m scripts.experiments.takeover`: the cost of a fault of the Spark driver, beside a standby or not.

It runs on a side of its own, with a second driver that waits unless `--no-standby` is given. Each fault comes
in the middle of a steady load; then the side settles until the next driver is warm.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer
from msgspec import Struct, structs

from scripts.experiments.harness import cpu
from scripts.experiments.harness.bounds import Bound
from scripts.experiments.harness.disturbance import Disturbance, disturbed
from scripts.experiments.harness.measure import destination_port, destination_url
from scripts.experiments.harness.output import report, say, to_json, writable, write_json
from scripts.experiments.harness.runs import Load
from scripts.experiments.harness.side import RunningChain, hifi
from scripts.experiments.harness.subprocesses import ChainError
from scripts.experiments.takeover.faults import CYCLE_SECONDS, KILLS, Fault, cause, driver_starts, two_at_work
from scripts.local.ports import free_base
from scripts.local.processes.profile import SideProfile
from scripts.local.processes.supervisor import Supervisor
from scripts.local.services import driver_at_work, waiting_driver
from scripts.local.side import Side
from scripts.terminal import run_command

_WARM_SECONDS = 300.0
_IDLE_SECONDS = 30.0
_LATE_SECONDS = {Fault.KILL: 5, Fault.RESTART: 8}
_HIGHEST_MS = {Fault.KILL: 5_000, Fault.RESTART: 3_000}

APP = typer.Typer(add_completion=False)


class Phase(Disturbance, frozen=True, kw_only=True):
    """One fault under load."""

    fault: Fault
    driver_starts: int
    """That it caused."""


class TakeoverRun(Struct, frozen=True, kw_only=True):
    """All figures of a run."""

    standby: bool
    ready_seconds: float
    idle_percent: float | None
    """CPU of the waiting driver without load, percent of a core."""

    phases: list[Phase]
    two_at_work: list[str]
    """Partitions that two drivers wrote alternately."""


@APP.command()
def run(  # noqa: PLR0913, PLR0917  # one for each option
    fault: Annotated[list[Fault], typer.Option(help="Faults, one after the other.")] = [  # noqa: B006
        Fault.KILL,
        Fault.RESTART,
        Fault.SUSPEND,
    ],
    standby: Annotated[bool, typer.Option(help="A second driver waits.")] = True,
    rate: Annotated[int, typer.Option(min=1, help="Single events per second.")] = 1_000,
    seconds: Annotated[float, typer.Option(min=30, help="Seconds of each load.")] = 80.0,
    parts: Annotated[SideProfile, typer.Option(help="Programs of the side.")] = SideProfile.ALL,
    out: Annotated[Path, typer.Option(callback=writable, help="JSON file of all figures.")] = Path(
        "takeover.json"
    ),
) -> None:
    """Measure lateness, losses and doubles around each fault; exit status 1 if a bound is broken."""
    load = Load(rate=rate, batch=1, seconds=seconds)
    port = destination_port()
    with _side(standby=standby, port=port, parts=parts) as chain:
        idle = _idle(chain) if standby else None
        phases = [_phase(chain, each, load, port) for each in fault]
        found = TakeoverRun(
            standby=standby,
            ready_seconds=chain.ready_seconds,
            idle_percent=idle,
            phases=phases,
            two_at_work=two_at_work(chain.side),
        )
    write_json(out, found)
    report(list(_bounds(found)))


@contextmanager
def _side(*, standby: bool, port: int, parts: SideProfile) -> Iterator[RunningChain]:
    with TemporaryDirectory(prefix="hifi-over-") as folder:
        side = Side(root=Path(folder, "side"), port=free_base(), standby=standby)
        with hifi(side, destination_url(port), parts) as chain:
            _settle(chain)
            yield chain


def _settle(chain: RunningChain) -> None:
    """Wait until a driver is at work and, with a standby, another one waits.

    Raises:
        ChainError: if that takes too long.
    """
    supervisor, deadline = Supervisor(chain.side), time.monotonic() + _WARM_SECONDS
    while not _settled(chain.side, supervisor):
        chain.check()
        if time.monotonic() > deadline:
            raise ChainError(f"the drivers are not ready after {_WARM_SECONDS:.0f} s: see {chain.side.logs}")
        time.sleep(1)
    time.sleep(5)


def _settled(side: Side, supervisor: Supervisor) -> bool:
    waits = not side.standby or waiting_driver(side, supervisor) is not None
    return waits and driver_at_work(side, supervisor) is not None


def _idle(chain: RunningChain) -> float:
    roots = [pid for pid in (waiting_driver(chain.side, Supervisor(chain.side)),) if pid is not None]
    before = cpu.used(roots)
    time.sleep(_IDLE_SECONDS)
    used = cpu.cores(cpu.since(before, cpu.used(roots)), _IDLE_SECONDS)
    say(f"idle: {used}")
    return sum(used.values())


def _phase(chain: RunningChain, fault: Fault, load: Load, port: int) -> Phase:
    _settle(chain)
    if fault is Fault.STORM:
        load = structs.replace(load, seconds=load.seconds + KILLS * CYCLE_SECONDS)
    before = driver_starts(chain.side)
    found = disturbed(chain, load, port, lambda: cause(fault, chain.side))
    phase = Phase(fault=fault, driver_starts=driver_starts(chain.side) - before, **structs.asdict(found))
    say(to_json(phase).decode())
    return phase


def _bounds(found: TakeoverRun) -> Iterator[Bound]:
    for phase in found.phases:
        yield Bound(what=f"{phase.fault}: lost", figure=phase.delivery.lost, most=0, unit="events")
        if found.standby and phase.fault in _LATE_SECONDS:
            late, most = phase.lateness, _LATE_SECONDS[phase.fault]
            yield Bound(
                what=f"{phase.fault}: seconds with a p95 over 1 s",
                figure=late.late_seconds,
                most=most,
                unit="s",
            )
            yield Bound(
                what=f"{phase.fault}: highest p95 of a second",
                figure=late.highest_p95_ms,
                most=_HIGHEST_MS[phase.fault],
                unit="ms",
            )
    yield Bound(what="written by two drivers", figure=len(found.two_at_work), most=0, unit="partitions")
    if found.standby:
        yield Bound(what="waiting driver", figure=found.idle_percent, most=3, unit="% of a core")


if __name__ == "__main__":
    run_command(APP)
