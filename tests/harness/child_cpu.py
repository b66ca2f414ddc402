"""CPU time of a command, which other processes on the machine hardly change."""

import os
import subprocess
from collections.abc import Mapping, Sequence

from scripts.experiments.harness.cpu import of_ended_children


def cpu_seconds(command: Sequence[str], environ: Mapping[str, str] = os.environ) -> float:
    """CPU seconds of a command and of those it waits for.

    Raises:
        CalledProcessError: if it fails.
    """
    before = of_ended_children()
    subprocess.run(command, check=True, env=environ, capture_output=True)
    return of_ended_children() - before
