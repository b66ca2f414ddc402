"""Lock of a side's folder: a file lock that ends with its process, so it is never stale."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, TextIO

from shared.runtime.errors import OperatorError

ANOTHER_USERS: Final = "use another --data, or run as the user who started the side"
"""The fix if a folder, or what runs in it, is another user's."""


class RunningError(OperatorError):
    """Another `hifi up` already runs this side."""


class LockUnreadableError(OperatorError):
    """The lock of the side's folder cannot be opened."""


def _path(root: Path) -> Path:
    return root / "run" / "up.lock"


@contextmanager
def held(root: Path) -> Iterator[None]:
    """Hold the folder's lock.

    Raises:
        RunningError: if another process has it.
        LockUnreadableError: if the folder belongs to another user.
    """
    with _opened(_path(root)) as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise RunningError(
                f"the side in {root} already runs (pid {holder(root)}); `hifi down --data {root}` stops it"
            ) from error
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        yield


def _opened(path: Path) -> TextIO:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return path.open("a+")
    except PermissionError as error:
        raise LockUnreadableError(f"{path} cannot be written: {error.strerror}", ANOTHER_USERS) from error


def holder(root: Path) -> int | None:
    """Process id of the `hifi up` that runs the side; None if none does.

    Raises:
        LockUnreadableError: if the folder belongs to another user.
    """
    try:
        with _path(root).open() as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return None
    except PermissionError as error:
        problem = f"{_path(root)} cannot be read: {error.strerror}"
        raise LockUnreadableError(problem, ANOTHER_USERS) from error
    except BlockingIOError:
        return int(_path(root).read_text() or 0) or None
    return None
