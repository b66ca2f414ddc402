"""Output of the command line: results on stdout, everything else on stderr."""

import sys
from collections.abc import Callable

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from shared.runtime.errors import OperatorError

REFUSED = 1
"""Exit status of a valid request that was not carried out."""

INTERRUPTED = 130
"""Exit status of a command that a signal ended early, as that of a shell after Ctrl-C."""

_PIPE_WIDTH = 1_000


def out() -> Console:
    """The console of results; lines are cut to a terminal's width, and whole elsewhere."""
    console = Console(highlight=False)
    return console if console.is_terminal else Console(highlight=False, width=_PIPE_WIDTH)


def err() -> Console:
    """The console of progress and problems."""
    return Console(stderr=True, highlight=False)


def run_command(command: Callable[[], object]) -> None:
    """Run a command; print an `OperatorError` on one line and exit with its status.

    Raises:
        SystemExit: when the command ends.
    """
    try:
        command()
    except OperatorError as error:
        err().print(f"[bold red]error[/] {escape(str(error))}", soft_wrap=True)
        sys.exit(error.status)


def printable(text: str) -> str:
    """Foreign text with control characters escaped, safe for a terminal."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def plain_table(*columns: str) -> Table:
    """A table without a frame; if space is short, the last column shrinks."""
    table = Table(box=None, pad_edge=False, header_style="bold dim", padding=(0, 3, 0, 0))
    for column in columns:
        table.add_column(column, no_wrap=column is not columns[-1])
    return table
