"""Prints what a worker's executors write to their files: `python -m shared.spark.executor_logs FOLDER`.

Spark's standalone worker gives each executor the files `stdout` and `stderr` in a folder of its own. On a
spot node they end with the node; what this process prints is a pod's log, which is shipped. Lines that are
no JSON objects, of JVMs and of Python workers that die, become the text of one.
"""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO, Final

from shared.runtime.logging import configure_logging, get_logger
from shared.runtime.shutdown import stop_event
from shared.spark.jvm_output import is_object

_log = get_logger(__name__)
_LOOK_SECONDS: Final = 1.0
_FILES: Final = "app-*/*/std*"
"""Below the worker's folder: an application, an executor's number, a stream; rolled files among them."""

_MOST_BYTES: Final = 64 * 1024
"""Longest line; the rest of a longer one becomes another line."""


class Followed:
    """A file that grows, until it is deleted; renamed by Spark, it is still read to its end."""

    def __init__(self, path: Path) -> None:
        self._file: BinaryIO = path.open("rb")
        self._rest = b""

    def lines(self) -> Iterator[bytes]:
        """The lines that have been finished since the last call."""
        while part := self._file.readline(_MOST_BYTES):
            self._rest += part
            if part.endswith(b"\n") or len(self._rest) >= _MOST_BYTES:
                line, self._rest = self._rest, b""
                yield line.rstrip(b"\n")

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class ExecutorLogs:
    """The files of all executors of a worker."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._followed: dict[int, Followed] = {}
        """Followed files by inode: Spark reuses a name after it has rolled a file."""

    def look(self, pass_on: Callable[[bytes], None]) -> None:
        """Pass on every finished line that is new; forget deleted files."""
        there = dict(self._there())
        for inode in there.keys() - self._followed.keys():
            self._followed[inode] = Followed(there[inode])
        for inode, followed in list(self._followed.items()):
            for line in followed.lines():
                pass_on(line)
            if inode not in there:
                self._followed.pop(inode).close()

    def _there(self) -> Iterator[tuple[int, Path]]:
        for path in sorted(self._folder.glob(_FILES)):
            try:
                yield path.stat().st_ino, path
            except FileNotFoundError:  # rolled or cleaned up in between
                continue


def pass_on(line: bytes) -> None:
    """Write a line to stderr, as a JSON object."""
    if is_object(line):
        sys.stderr.buffer.write(line + b"\n")
        sys.stderr.buffer.flush()
    elif text := line.decode(errors="replace").rstrip():
        _log.warning(text)


def main(folder: Path) -> None:
    """Print executors' lines until a stop signal, those of the last moment included."""
    configure_logging("executor-logs")
    stopping, logs = stop_event(), ExecutorLogs(folder)
    while not stopping.wait(_LOOK_SECONDS):
        logs.look(pass_on)
    logs.look(pass_on)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
