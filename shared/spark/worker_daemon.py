"""The process that Spark's Python workers are forked from, with their modules imported before the first fork.

Spark starts it in place of its own (`spark.python.daemon.module`), one for each pool. A worker that replaces
a killed one is at work at once, instead of after a second or two of imports.
"""

import gc
import importlib
import os
from collections.abc import Iterable
from typing import Final

from pyspark.daemon import manager

PRELOAD: Final = "HIFI_PRELOAD"
"""Environment variable with the names of modules, separated by spaces."""


def preload(names: Iterable[str]) -> None:
    """Import modules, and exclude them from garbage collection, which would copy their pages after a fork."""
    for name in names:
        importlib.import_module(name)
    gc.freeze()


if __name__ == "__main__":
    preload(os.environ.get(PRELOAD, "").split())
    manager()
