"""Two whole sides behind an edge as real processes."""

import os
import re
import signal
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import msgspec
import psutil
import yaml

from scripts.local.ports import free_base
from scripts.local.process_marks import kill, side_processes
from scripts.local.twins.place import TWINS_PORTS, Twins
from shared.contracts.scorecard import MinuteCard
from tests.harness.command_line import HIFI
from tests.harness.live_side import SETTLE_SECONDS
from tests.harness.waiting import eventually

UP_SECONDS = 900
DOWN_SECONDS = 300
WARM_UP_SECONDS = 15.0


class LiveTwins:
    """Twins in one folder, started once."""

    def __init__(self, root: Path) -> None:
        self.twins = Twins(root=root, port=free_base(count=TWINS_PORTS), partitions=1)
        self._up: subprocess.Popen[bytes] | None = None
        self._output = root.with_name(root.name + ".up.log")

    def up(self) -> None:
        """Run `hifi up --twins`, and wait until it is ready."""
        where = ("--data", str(self.twins.root), "--port", str(self.twins.port), "--partitions", "1")
        with self._output.open("wb") as output:
            self._up = subprocess.Popen(
                [*HIFI, "up", "--twins", *where, "--warm-up", str(WARM_UP_SECONDS)],
                stdout=output,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
                env={**os.environ, "HIFI_SETTLE_SECONDS": str(SETTLE_SECONDS)},
            )
        eventually(self._said_ready, UP_SECONDS, "hifi up --twins says ready", every=0.5)

    def _said_ready(self) -> bool:
        assert self._up is not None
        text = self._output.read_text(errors="replace")
        assert self._up.poll() is None, text
        return bool(re.search(r"^ready\b", text, re.MULTILINE))

    def hifi(self, *arguments: str) -> str:
        """What a command about the twins' folder prints."""
        done = subprocess.run(
            [*HIFI, *arguments, "--data", str(self.twins.root)],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def doctor(self) -> str:
        """What `hifi doctor` prints, whatever it thinks of the machine."""
        command = [*HIFI, "doctor", "--data", str(self.twins.root)]
        environment = {**os.environ, "COLUMNS": "200"}
        return subprocess.run(
            command, capture_output=True, text=True, timeout=120, check=False, env=environment
        ).stdout

    def apply(self, *documents: dict[str, Any]) -> None:
        """Publish documents by `hifi apply`."""
        path = self.twins.root.with_name(self.twins.root.name + ".yaml")
        path.write_text(yaml.safe_dump_all(documents))
        self.hifi("apply", str(path))

    def processes(self) -> list[psutil.Process]:
        """Every process of both sides and of the edge."""
        roots = [self.twins.edge.root, *(side.root for side in self.twins.sides)]
        return [process for root in roots for process in side_processes(root)]

    def memory_bytes(self) -> Mapping[str, int]:
        """Resident memory of the edge's and of each side's processes."""
        places = {"edge": self.twins.edge.root, **{side.name: side.root for side in self.twins.sides}}
        return {name: sum(_resident(each) for each in side_processes(root)) for name, root in places.items()}

    def minutes(self, side: str, tenant: str) -> list[MinuteCard]:
        """Minutes of a tenant, as a side's own observe has them."""
        url = f"{self.twins.side(side).observe_url}/v1/minutes"
        reply = httpx.get(url, params={"tenant": tenant}, timeout=30)
        return msgspec.json.decode(reply.raise_for_status().content, type=list[MinuteCard])

    def terminate(self) -> int:
        """Send SIGTERM to `hifi up`; returns its exit status."""
        assert self._up is not None
        self._up.send_signal(signal.SIGTERM)
        return self._up.wait(DOWN_SECONDS)

    def log_tails(self, characters: int = 2_000) -> str:
        """The ends of all logs, for the message of a failed test."""
        logs = [self._output, *sorted(self.twins.root.glob("*/logs/*.log"))]
        return "\n".join(f"== {log}\n{log.read_text(errors='replace')[-characters:]}" for log in logs)

    def end(self) -> None:
        """End every process, in whatever state it is."""
        if self._up and self._up.poll() is None:
            with suppress(subprocess.TimeoutExpired):
                self.terminate()
            self._up.kill()
        kill(self.processes())


def _resident(process: psutil.Process) -> int:
    try:
        return int(process.memory_info().rss)
    except psutil.Error:
        return 0
