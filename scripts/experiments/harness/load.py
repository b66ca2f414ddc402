"""Runs the load generator as a process."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import msgspec

from scripts.experiments.harness.runs import Load, Sent
from scripts.experiments.harness.subprocesses import ChainError
from scripts.local.side import Side

_GRACE_SECONDS: Final = 60.0


class LoadProcess:
    """A running load generator."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self._process = process

    def result(self, seconds: float) -> Sent:
        """Wait for the end of the load; returns what was sent.

        Raises:
            ChainError: if the generator fails, or does not end within `seconds` and a minute.
        """
        try:
            output, _ = self._process.communicate(timeout=seconds + _GRACE_SECONDS)
            return msgspec.json.decode(output, type=Sent)
        except (subprocess.TimeoutExpired, msgspec.MsgspecError) as error:
            raise ChainError(f"the load generator failed: {error}") from error


@contextmanager
def load_process(side: Side, key: str, load: Load, acked: Path) -> Iterator[LoadProcess]:
    """Send a load to a side's collect while the block runs; acknowledged ids are written to `acked`."""
    options = (side.collect_url, key, load.rate, load.batch, load.seconds, acked)
    command = [sys.executable, "-m", "scripts.experiments.harness.load_generator", *map(str, options)]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as process:
        try:
            yield LoadProcess(process)
        finally:
            process.terminate()


def offer_load(side: Side, key: str, load: Load, acked: Path) -> Sent:
    """Send a whole load.

    Raises:
        ChainError: if the load generator fails, or does not end in time.
    """
    with load_process(side, key, load, acked) as offered:
        return offered.result(load.seconds)
