"""Runs Python with the code of a version, and the packages of this checkout."""

import os
import subprocess
import sys
from pathlib import Path

from scripts.local.side import Code
from scripts.local.twins.versions import CHECKOUT


def run_python(code: Code, *arguments: str, seconds: float) -> "subprocess.CompletedProcess[str]":
    """Run Python in a version's folder, with its modules; what it writes is captured.

    Raises:
        TimeoutError: if it takes longer than `seconds`.
    """
    source = source_of(code)
    environment = {**os.environ, "PYTHONPATH": str(source), "PYSPARK_PYTHON": sys.executable}
    try:
        return subprocess.run(
            [sys.executable, *arguments],
            cwd=source,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=seconds,
        )
    except subprocess.TimeoutExpired as error:
        raise TimeoutError(f"it took longer than {seconds:.0f} s: the machine is busy") from error


def source_of(code: Code) -> Path:
    """Folder of a version's code."""
    return code.source or CHECKOUT
