"""Runs Python with the code of a version, and the packages of this checkout."""

import os
import subprocess
import sys
from pathlib import Path

from scripts.local.processes.session_priority import lower_session
from scripts.local.side import Code
from scripts.local.twins.versions import CHECKOUT


def run_python(code: Code, *arguments: str, seconds: float) -> "subprocess.CompletedProcess[str]":
    """Run Python in a version's folder, with its modules; what it writes is captured.

    It leaves the cores to the side that serves: its session is its own, with a lower priority.

    Raises:
        TimeoutError: if it takes longer than `seconds`.
    """
    source = source_of(code)
    with subprocess.Popen(
        [sys.executable, *arguments],
        cwd=source,
        env={**os.environ, "PYTHONPATH": str(source), "PYSPARK_PYTHON": sys.executable},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        lower_session(process.pid)
        try:
            output, errors = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired as error:
            raise TimeoutError(f"it took longer than {seconds:.0f} s: the machine is busy") from error
        finally:
            process.kill()
    return subprocess.CompletedProcess(process.args, process.returncode, output, errors)


def source_of(code: Code) -> Path:
    """Folder of a version's code."""
    return code.source or CHECKOUT
