"""What a JVM and its children write to the standard streams, as JSON lines among this process's own.

Spark's loggers write JSON (log4j2.properties). A JVM writes some lines past every logger, about its modules
or its memory, and so do Python workers that die.
"""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import msgspec

from shared.runtime.logging import get_logger

_log = get_logger(__name__)
_STDOUT: Final = 1
_STDERR: Final = 2
_MOST_BYTES: Final = 64 * 1024
"""Of a line; the rest of a longer one is a line of its own."""


@contextmanager
def json_output() -> Iterator[None]:
    """Children started within the block write to a pipe, whose lines a thread passes on until they end.

    After the block this process's own output takes the direct way again: it depends on no thread.
    """
    reading, writing = os.pipe()
    out, err = os.dup(_STDOUT), os.dup(_STDERR)
    threading.Thread(target=_pass_on, args=(reading,), name="jvm-output", daemon=True).start()
    try:
        os.dup2(writing, _STDOUT)
        os.dup2(writing, _STDERR)
        yield
    finally:
        os.dup2(out, _STDOUT)
        os.dup2(err, _STDERR)
        for descriptor in (writing, out, err):
            os.close(descriptor)


def _pass_on(reading: int) -> None:
    with open(reading, "rb") as lines:
        while line := lines.readline(_MOST_BYTES):
            if is_object(line):
                os.write(_STDERR, line if line.endswith(b"\n") else line + b"\n")
            elif text := line.decode(errors="replace").rstrip():
                _log.warning(text)


def is_object(line: bytes) -> bool:
    """Whether a line is a JSON object already."""
    try:
        return isinstance(msgspec.json.decode(line), dict)
    except msgspec.DecodeError:
        return False
