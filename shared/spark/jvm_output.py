"""Passes on what a JVM and its children write to the standard streams, as JSON lines.

Spark's loggers write JSON (log4j2.properties). The JVM writes some lines without a logger, about its modules
or memory, and so do Python workers that crash.
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
"""Longest line; the rest of a longer one becomes another line."""


@contextmanager
def json_output() -> Iterator[None]:
    """Children started within the block write to a pipe; a thread passes its lines on until they end.

    After the block this process itself writes directly again, without the thread.
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
    """Whether a line is already a JSON object."""
    try:
        return isinstance(msgspec.json.decode(line), dict)
    except msgspec.DecodeError:
        return False
