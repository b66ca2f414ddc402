"""`hifi` on a folder that the command line names."""

import subprocess

from tests.harness.command_line import HIFI


def hifi(*arguments: str) -> "subprocess.CompletedProcess[str]":
    """Run it to its end."""
    return subprocess.run([*HIFI, *arguments], capture_output=True, text=True, check=False, timeout=300)
