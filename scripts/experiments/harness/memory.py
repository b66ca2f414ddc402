"""Resident memory by process of a side, as the operating system counts it."""

from collections import defaultdict
from collections.abc import Iterable
from contextlib import suppress

import psutil

from scripts.experiments.harness.cpu import process_trees, role


def resident(roots: Iterable[int]) -> dict[str, float]:
    """MiB of the process trees below `roots`, by role; what processes share counts in each."""
    totals: dict[str, float] = defaultdict(float)
    for process in process_trees(roots):
        with suppress(psutil.NoSuchProcess, psutil.ZombieProcess):
            totals[role(process.cmdline())] += process.memory_info().rss / 2**20
    return dict(totals)
