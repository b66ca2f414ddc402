"""Runs `hifi` on a folder given by option."""

import subprocess

from tests.harness.command_line import HIFI


def hifi(*arguments: str) -> "subprocess.CompletedProcess[str]":
    """Run a command to its end."""
    return subprocess.run([*HIFI, *arguments], capture_output=True, text=True, check=False, timeout=300)
