"""`hifi up` as a process, which ends all that it started."""

import os
import re
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import psutil

from scripts.local.process_marks import kill, side_processes
from tests.harness.command_line import HIFI
from tests.harness.waiting import eventually

SETTLE_SECONDS = 20
"""The meter's settle time: a test's events arrive within seconds."""


class LiveProcesses:
    """The processes of `hifi up` in a folder; it may be started and stopped several times."""

    def __init__(
        self,
        root: Path,
        arguments: Sequence[str],
        environment: Mapping[str, str],
        *,
        up_seconds: float,
        down_seconds: float,
    ) -> None:
        """`arguments` of `hifi up` beside the folder; the time that a start and an end may take."""
        self._root, self._arguments, self._environment = root, arguments, environment
        self._up_seconds, self._down_seconds = up_seconds, down_seconds
        self._up: subprocess.Popen[bytes] | None = None
        self._output = root.with_name(root.name + ".up.log")

    def up(self) -> None:
        """Run `hifi up`, and wait until it is ready."""
        self.begin()
        self.until_said("ready")

    def begin(self) -> None:
        """Run `hifi up`."""
        with self._output.open("wb") as output:
            self._up = subprocess.Popen(
                [*HIFI, "up", "--data", str(self._root), *self._arguments],
                stdout=output,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
                env={**os.environ, "HIFI_SETTLE_SECONDS": str(SETTLE_SECONDS), **self._environment},
            )

    def until_said(self, words: str) -> None:
        """Wait until a line of `hifi up` begins with these words."""
        eventually(lambda: self._said(words), self._up_seconds, f"hifi up says {words}")

    def said(self) -> str:
        """The output of `hifi up`."""
        return self._output.read_text(errors="replace")

    def _said(self, words: str) -> bool:
        assert self._up is not None
        text = self.said()
        assert self._up.poll() is None, text
        found = set(re.findall(rf"^({words}|not ready)\b", text, re.MULTILINE))
        assert found <= {words}, text
        return bool(found)

    def terminate(self) -> int:
        """Send SIGTERM to `hifi up`; returns its exit status."""
        assert self._up is not None
        self._up.send_signal(signal.SIGTERM)
        return self._up.wait(self._down_seconds)

    def roots(self) -> Sequence[Path]:
        """Folders that mark the processes."""
        return [self._root]

    def processes(self, program: str | None = None) -> list[psutil.Process]:
        """Every process, or those of one program."""
        return [process for root in self.roots() for process in side_processes(root, program)]

    def log_tails(self, characters: int = 2_000) -> str:
        """The ends of all logs, for the message of a failed test."""
        logs = [self._output, *(log for root in self.roots() for log in sorted(root.glob("logs/*.log")))]
        return "\n".join(f"== {log}\n{log.read_text(errors='replace')[-characters:]}" for log in logs)

    def end(self) -> None:
        """End every process, in whatever state it is."""
        if self._up and self._up.poll() is None:
            with suppress(subprocess.TimeoutExpired):
                self.terminate()
            self._up.kill()
        kill(self.processes())
