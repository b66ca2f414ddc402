"""`hifi doctor`."""

from collections.abc import Iterable, Iterator
from pathlib import Path

import typer
from rich.console import Console
from rich.table import Table

from scripts.cli.commands.options import DATA_DEFAULT, Data
from scripts.local.doctor.checks import Check, ports_check, prerequisites
from scripts.local.doctor.health import health
from scripts.local.lock import holder
from scripts.local.process_marks import side_processes
from scripts.local.side import NoSideError, Side


def doctor(data: Data = DATA_DEFAULT) -> None:
    """Check the machine and the side, with a fix for each problem; exit status 1 if there is one."""
    checks = list(diagnosis(data.resolve()))
    Console().print(table(checks))
    if not all(check.ok for check in checks):
        raise typer.Exit(1)


def diagnosis(root: Path) -> Iterator[Check]:
    """The checks of the machine, then those of a running or of a stopped side."""
    yield from prerequisites(root)
    try:
        side = Side.load(root) if (root / "side.json").exists() else Side(root=root)
    except NoSideError as error:
        yield Check(name="side", found=str(error), fix=f"rm {root / 'side.json'}")
        return
    pid = holder(root)
    if pid is not None:
        yield Check(name="side", found=f"running (hifi up is pid {pid})")
        yield from health(side)
    elif left := side_processes(root):
        yield Check(
            name="side",
            found=f"{len(left)} processes left by an earlier `hifi up`",
            fix=f"hifi down --data {root}",
        )
    else:
        yield Check(name="side", found="not running")
        yield ports_check(side)


def table(checks: Iterable[Check]) -> Table:
    """The checks as a table."""
    shown = Table("", "check", "found", "fix", title="hifi doctor", title_justify="left")
    for check in checks:
        mark = "[green]ok[/]" if check.ok else "[red]failed[/]"
        shown.add_row(mark, check.name, check.found, check.fix or "")
    return shown
