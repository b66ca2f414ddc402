"""Two whole sides behind an edge as real processes."""

import os
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import msgspec
import psutil
import yaml

from scripts.local.ports import free_base
from scripts.local.process_marks import PROGRAM, side_processes
from scripts.local.processes.programs import SERVICES
from scripts.local.twins.place import Twins
from shared.contracts.scorecard import MinuteCard
from shared.runtime.authorities import authorities
from tests.harness.command_line import HIFI
from tests.harness.live_processes import LiveProcesses
from tests.harness.twins_ports import TWINS_PORTS

UP_SECONDS = 900
DOWN_SECONDS = 300


class LiveTwins(LiveProcesses):
    """Twins in one folder, started once."""

    def __init__(self, root: Path, environment: Mapping[str, str], load_percent: int = 100) -> None:
        """Twins that are not started yet.

        Args:
            root: their folder.
            environment: for all programs, the deployer among them.
            load_percent: of the usual load, what customers send.
        """
        self.load_percent = load_percent
        self.twins = Twins(root=root, port=free_base(count=TWINS_PORTS), partitions=1)
        arguments = ("--twins", "--port", str(self.twins.port), "--partitions", "1")
        super().__init__(root, arguments, environment, up_seconds=UP_SECONDS, down_seconds=DOWN_SECONDS)

    def hifi(self, *arguments: str) -> str:
        """The output of a command about the twins' folder."""
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
        """The output of `hifi doctor`, whatever it thinks of the machine."""
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

    def roots(self) -> Sequence[Path]:
        """Folders that mark the processes: the edge's and both sides'."""
        return [self.twins.edge.root, *(side.root for side in self.twins.sides)]

    def memory_bytes(self) -> Mapping[str, int]:
        """Resident memory of the edge's and of each side's processes."""
        places = {"edge": self.twins.edge.root, **{side.name: side.root for side in self.twins.sides}}
        return {name: sum(_resident(each) for each in side_processes(root)) for name, root in places.items()}

    def chain_memory_bytes(self) -> Mapping[str, int]:
        """Resident memory of each side's data plane, without brokers and meter: what a version needs."""
        return {
            side.name: sum(_resident(each) for each in side_processes(side.root) if _of_chain(each))
            for side in self.twins.sides
        }

    def next_fence(self) -> int:
        """A fence above all that the sides have seen: the deployer raises its own above it soon."""
        seen = self.twins.edge.root / "fence"
        return int(seen.read_text() or 0) + 1 if seen.exists() else 1

    def minutes(self, side: str, tenant: str) -> list[MinuteCard]:
        """Minutes of a tenant, as a side's own observe has them."""
        url = f"{self.twins.side(side).observe_url}/v1/minutes"
        reply = httpx.get(url, params={"tenant": tenant}, timeout=30, verify=authorities(url))
        return msgspec.json.decode(reply.raise_for_status().content, type=list[MinuteCard])

    def minutes_of_both(self, tenant: str) -> list[MinuteCard]:
        """Minutes of a tenant as the sides that run have them."""
        found = []
        for side in self.twins.sides:
            with suppress(httpx.TransportError):  # a parked side has no observe
                found += self.minutes(side.name, tenant)
        return found


def _of_chain(process: psutil.Process) -> bool:
    try:
        return process.environ().get(PROGRAM) in SERVICES
    except psutil.Error:
        return False


def _resident(process: psutil.Process) -> int:
    try:
        return int(process.memory_info().rss)
    except psutil.Error:
        return 0
