"""`hifi doctor`."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import typer
from rich.console import Console
from rich.table import Table

from scripts.cli.commands.options import DATA_DEFAULT, Data
from scripts.local.doctor.checks import TO_GO_ON, TO_START, Check, haproxy_check, ports_check, prerequisites
from scripts.local.doctor.edge_health import edge_health
from scripts.local.doctor.health import health
from scripts.local.lock import holder
from scripts.local.process_marks import side_processes
from scripts.local.side import NoSideError, Side
from scripts.local.twins.place import NoTwinsError, Twins, are_twins
from scripts.local.twins.programs import haproxy


def doctor(data: Data = DATA_DEFAULT) -> None:
    """Check the machine and the side, with a fix for each problem; exit status 1 if there is one."""
    checks = list(diagnosis(data.resolve()))
    Console().print(table(checks))
    if not all(check.ok for check in checks):
        raise typer.Exit(1)


def diagnosis(root: Path) -> Iterator[Check]:
    """The checks of the machine, then those of a running or of a stopped side, or of twins."""
    yield from prerequisites(root, TO_START if holder(root) is None else TO_GO_ON)
    yield haproxy_check(haproxy(), needed=are_twins(root))
    try:
        yield from _twins(Twins.load(root)) if are_twins(root) else _side(root)
    except (NoSideError, NoTwinsError) as error:
        yield Check(name="side", found=str(error), fix=f"rm {root}/side.json {root}/twins.json")


def _side(root: Path) -> Iterator[Check]:
    side = Side.load(root) if (root / "side.json").exists() else Side(root=root)
    pid = holder(root)
    if pid is not None:
        yield Check(name="side", found=f"running (hifi up is pid {pid})")
        yield from health(side)
    else:
        yield from _stopped(root, [side.logs], side_processes(root), side.ports)


def _twins(twins: Twins) -> Iterator[Check]:
    pid = holder(twins.root)
    if pid is None:
        places = [twins.edge, *twins.sides]
        left = [process for place in places for process in side_processes(place.root)]
        ports = [*twins.edge.ports, *(port for side in twins.sides for port in side.ports)]
        yield from _stopped(twins.root, [place.logs for place in places], left, ports)
        return
    yield Check(name="twins", found=f"running (hifi up is pid {pid})")
    yield from edge_health(twins)
    for side in twins.sides:
        for check in health(side):
            yield replace(check, name=f"{side.name} {check.name}")


def _stopped(
    root: Path, logs: Sequence[Path], left: Sequence[object], ports: Sequence[int]
) -> Iterator[Check]:
    if left:
        found = f"{len(left)} processes left by an earlier `hifi up`"
        yield Check(name="side", found=found, fix=f"hifi down --data {root}")
        return
    kept = ", ".join(str(each) for each in logs if each.exists())
    yield Check(name="side", found=f"not running; logs: {kept}" if kept else "not running")
    yield ports_check(ports)


def table(checks: Iterable[Check]) -> Table:
    """The checks as a table."""
    shown = Table("", "check", "found", "fix", title="hifi doctor", title_justify="left")
    for check in checks:
        mark = "[green]ok[/]" if check.ok else "[red]failed[/]"
        shown.add_row(mark, check.name, check.found, check.fix or "")
    return shown
