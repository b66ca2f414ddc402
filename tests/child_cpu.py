"""What a command costs, by a clock that other work on the machine hardly moves."""

import os
import resource
import subprocess
from collections.abc import Mapping, Sequence


def cpu_seconds(command: Sequence[str], environ: Mapping[str, str] = os.environ) -> float:
    """CPU seconds of a command and of those it waits for.

    Raises:
        CalledProcessError: if it fails.
    """
    before = _of_children()
    subprocess.run(command, check=True, env=environ, capture_output=True)
    return _of_children() - before


def _of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
