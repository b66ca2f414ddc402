"""README's first event, with its own commands, on a fresh clone with an empty home."""

import os
import re
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Final

import pytest

from scripts.local.addresses import Addresses
from scripts.local.ports import free_base
from tests.harness.waiting import eventually, free_port

pytestmark = pytest.mark.proof
ROOT: Final = Path(__file__).parents[2]
WITHIN_SECONDS: Final = 300
"""From the clone to the event at its destination."""


class Reader:
    """A person with the README and terminals."""

    def __init__(self, folder: Path) -> None:
        self.clone, self._home = folder / "hifi", folder / "home"
        self._home.mkdir()
        self.addresses = Addresses(port=free_base())
        self._ports = {"8080": str(self.addresses.port), "9000": str(free_port())}

    def get_the_project(self) -> None:
        """Clone it; its documents name the ports of this run, because the usual ones may be taken."""
        subprocess.run(["git", "clone", "--quiet", str(ROOT), str(self.clone)], check=True)
        sample = self.clone / "scripts/samples/first.yaml"
        sample.write_text(self._moved(sample.read_text()))

    def commands(self) -> list[str]:
        """The commands of README's section: without comments, continued lines joined."""
        section = (self.clone / "README.md").read_text().split("## Your first event")[1]
        block = re.search(r"```\n(.*?)```", section, re.DOTALL)
        assert block, "README has no commands for the first event"
        lines = block[1].replace("\\\n", " ").splitlines()
        found = [re.sub(r"\s+#.*", "", line) for line in lines if line.strip()]
        return [line.replace("hifi up", "hifi up --port 8080") for line in found]

    def run(self, command: str) -> str:
        """Run a command to its end; returns its output."""
        process = self._start(command, subprocess.PIPE)
        output, _ = process.communicate(timeout=WITHIN_SECONDS)
        assert process.returncode == 0, output.decode()
        return output.decode()

    @contextmanager
    def terminal(self, command: str) -> Iterator[Path]:
        """Start a command that continues in its own terminal, with its output in the file."""
        log = self._home / f"{command.split()[1]}.log"
        with log.open("wb") as output:
            process = self._start(command, output)
        try:
            yield log
        finally:
            process.terminate()
            assert process.wait(120) == 0, log.read_text()

    def _start(self, command: str, output: IO[bytes] | int) -> "subprocess.Popen[bytes]":
        activated = command if command.startswith("make") else f". .venv/bin/activate && exec {command}"
        own = {"HOME": str(self._home), "NO_COLOR": "1", "COLUMNS": "200"}
        kept = {name: each for name, each in os.environ.items() if not name.startswith(("HIFI_", "VIRTUAL_"))}
        return subprocess.Popen(
            ["bash", "-c", self._moved(activated)],
            cwd=self.clone,
            env=kept | own,
            stdout=output,
            stderr=subprocess.STDOUT,
        )

    def _moved(self, text: str) -> str:
        for usual, free in self._ports.items():
            text = text.replace(usual, free)
        return text


def test_a_stranger_sees_the_first_event_arrive_within_five_minutes_of_the_clone(tmp_path: Path) -> None:
    reader, began = Reader(tmp_path), time.monotonic()
    reader.get_the_project()
    setup, up, receive, apply, curl = reader.commands()
    reader.run(setup)
    installed = time.monotonic() - began
    with reader.terminal(up) as side, reader.terminal(receive) as destination:
        eventually(lambda: _says(side, "open"), WITHIN_SECONDS, "`hifi up` takes events")
        opened = time.monotonic() - began
        reader.run(apply)
        reply = reader.run(curl)
        assert "202 Accepted" in reply, reply
        eventually(lambda: "/ 1 (+0 repeated)" in destination.read_text(), 60, "the event has arrived")
        arrived = time.monotonic() - began
        eventually(lambda: _says(side, "ready"), WITHIN_SECONDS, "`hifi up` is warm")
        warm = time.monotonic() - began
        assert "hifi" in reader.run(f"curl -sf {reader.addresses.console_url}")
    times = f"installed {installed:.0f} s, open {opened:.0f} s, arrived {arrived:.0f} s, warm {warm:.0f} s"
    print(times)  # noqa: T201  # the figures of the proof
    assert arrived <= WITHIN_SECONDS, times


def _says(log: Path, word: str) -> bool:
    return re.search(rf"^{word}\b", log.read_text(), re.MULTILINE) is not None
