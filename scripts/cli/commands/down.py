"""`hifi down`."""

import os
import signal
import time
from contextlib import suppress
from pathlib import Path

from rich.console import Console

from scripts.cli.commands.options import DATA_DEFAULT, Data
from scripts.local.lock import ANOTHER_USERS, holder
from scripts.local.progress import Progress
from scripts.local.twins.leftovers import end_all_leftovers
from shared.runtime.errors import OperatorError

_STOP_SECONDS = 300
"""Two sides stop one after the other."""

_POLL_SECONDS = 0.1


def down(data: Data = DATA_DEFAULT) -> None:
    """Stop the local side, or both; acknowledged events stay on disk for the next `hifi up`."""
    progress = Progress(Console())
    root = data.resolve()
    pid = holder(root)
    if pid is not None:
        with progress.step(f"stopping the side in {root} (pid {pid})"):
            _stop(root, pid)
    ended = end_all_leftovers(root)
    if ended:
        progress.say(f"ended {ended} processes left by an earlier `hifi up`")
    if pid is None and not ended:
        progress.say(f"no side is running in {root}")


def _stop(root: Path, pid: int) -> None:
    try:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)
            os.kill(pid, signal.SIGCONT)  # or one that Ctrl-Z suspended would never learn of it
    except PermissionError as error:
        problem = f"the side in {root} (pid {pid}) cannot be stopped: {error.strerror}"
        raise OperatorError(problem, ANOTHER_USERS) from error
    deadline = time.monotonic() + _STOP_SECONDS
    while holder(root) == pid:
        if time.monotonic() > deadline:
            raise OperatorError(
                f"the side (pid {pid}) does not stop within {_STOP_SECONDS} s",
                f"its logs in {root / 'logs'} say why",
            )
        time.sleep(_POLL_SECONDS)
