"""Output of the command line: results on stdout, everything else on stderr."""

import os
import sys
from collections.abc import Callable, MutableMapping
from typing import Final

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from shared.runtime.errors import OperatorError

REFUSED = 1
"""Exit status of a valid request that was not carried out."""

INTERRUPTED = 130
"""Exit status of a command that a signal ended early, as that of a shell after Ctrl-C."""

_PIPE_WIDTH = 1_000
_OWN_MACHINE: Final = ("127.0.0.1", "localhost")


def out() -> Console:
    """The console of results; lines are cut to a terminal's width, and whole elsewhere."""
    console = Console(highlight=False)
    return console if console.is_terminal else Console(highlight=False, width=_PIPE_WIDTH)


def err() -> Console:
    """The console of progress and problems."""
    return Console(stderr=True, highlight=False)


def run_command(command: Callable[[], object]) -> None:
    """Run a command; print an `OperatorError` on one line and exit with its status.

    What it asks on this machine, and so do programs that it starts, it asks directly, not through a proxy.

    Raises:
        SystemExit: when the command ends.
    """
    spare_own_machine(os.environ)
    try:
        command()
    except OperatorError as error:
        err().print(f"[bold red]error[/] {escape(str(error))}", soft_wrap=True)
        sys.exit(error.status)


def spare_own_machine(environment: MutableMapping[str, str]) -> None:
    """Name this machine among what the environment's proxy is not for, or it is asked for a side's parts."""
    known = environment.get("no_proxy") or environment.get("NO_PROXY") or ""
    if known.strip() != "*":
        names = [name.strip() for name in known.split(",")]
        known = ",".join(dict.fromkeys([*filter(None, names), *_OWN_MACHINE]))
    environment["no_proxy"] = environment["NO_PROXY"] = known


def printable(text: str) -> str:
    """Foreign text with control characters escaped, safe for a terminal."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def plain_table(*columns: str) -> Table:
    """A table without a frame; if space is short, the last column shrinks."""
    table = Table(box=None, pad_edge=False, header_style="bold dim", padding=(0, 3, 0, 0))
    for column in columns:
        table.add_column(column, no_wrap=column is not columns[-1])
    return table
