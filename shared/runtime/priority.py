"""Leaves the cores to other processes for a while: for work that nothing waits for yet."""

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

import psutil

_STEPS: Final = 5
"""Each step leaves a process about a fifth less where others want the cores: a third in all."""

_PASSES: Final = 2
"""A thread that starts during the first pass may have the old priority; none starts from such a one later."""


def lower_priority() -> Callable[[], None]:
    """Lower the priority of this process, and so of all that it starts.

    Returns:
        What gives this process and all below it the former priority back. Where the system does not permit
        that (it needs CAP_SYS_NICE, or `ulimit -e 20`), the priority is lowered by one step only, for ever.
    """
    former = os.getpriority(os.PRIO_PROCESS, 0)
    os.setpriority(os.PRIO_PROCESS, 0, former + 1)
    try:
        os.setpriority(os.PRIO_PROCESS, 0, former)
    except PermissionError:
        return lambda: None
    os.setpriority(os.PRIO_PROCESS, 0, former + _STEPS)

    def restore() -> None:
        for _ in range(_PASSES):
            for thread in _threads():
                with suppress(ProcessLookupError):
                    os.setpriority(os.PRIO_PROCESS, thread, former)

    return restore


def _threads() -> Iterator[int]:
    """Threads of this process and its descendants: on Linux each has its own priority."""
    own = psutil.Process()
    for process in (own, *own.children(recursive=True)):
        with suppress(FileNotFoundError):
            yield from (int(entry.name) for entry in Path(f"/proc/{process.pid}/task").iterdir())
