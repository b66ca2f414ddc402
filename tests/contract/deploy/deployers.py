"""Real deployers over DynamoDB Local and a place in a file, and the commands of `hifi` that ask them."""

import subprocess
import time
from collections.abc import Callable, Collection
from contextlib import ExitStack
from pathlib import Path
from typing import Final
from uuid import uuid4

from shared.contracts.release_requests import Request
from shared.contracts.release_steps import Kind, Step
from shared.contracts.releases import Release
from shared.dynamodb.document_table import DocumentTable
from shared.dynamodb.release_store import ReleaseStore
from shared.runtime.clock import wall_clock
from tests.harness.command_line import Done, Hifi, HifiProcess
from tests.harness.deploy_process import DeployProcess
from tests.harness.fake_world import badly_ended, doubled, read_world
from tests.harness.waiting import eventually

SPEED: Final = 240.0
SECONDS: Final = 240


class Deployers:
    """A table, a place in a file, and consecutive deployers."""

    def __init__(self, endpoint: str, folder: Path, ending: ExitStack) -> None:
        self.endpoint, self.table, self.folder = endpoint, f"deploy-{uuid4().hex[:8]}", folder
        DocumentTable(self.table, endpoint).ensure()
        self.store = ReleaseStore(self.table, endpoint)
        self.place, self.start_s, self._ending = folder / "place.json", time.time(), ending
        self.processes: list[DeployProcess] = []

    def start(
        self,
        go: Path | None = None,
        *,
        patience: float = 60,
        watch_minutes: int = 1,
        lease: float = 1,
        passed: Collection[Step] = tuple(Step),
    ) -> DeployProcess:
        """Start another deployer and wait until it is ready; see `DeployProcess` for the arguments."""
        process = DeployProcess(
            self.endpoint,
            self.table,
            self.place,
            self.folder / f"{len(self.processes)}.log",
            speed=SPEED,
            start=self.start_s,
            lease=lease,
            go=go,
            patience=patience,
            watch_minutes=watch_minutes,
            passed=passed,
        )
        self.processes.append(process)
        self._ending.callback(process.kill)
        eventually(process.ready, SECONDS, "the deployer is ready", 0.05)
        return process

    def ask(self, kind: Kind, version: str = "") -> Release:
        """Write a request for a release, without a command."""
        return self.store.request(Request(kind=kind, version=version, by="ann"), wall_clock)

    def until(self, reached: Callable[[Release], bool], what: str) -> Release:
        """Wait until the present release meets a condition; returns it."""

        def holds() -> bool:
            found = self.store.current()
            return found is not None and reached(found)

        eventually(holds, SECONDS, what)
        return self.current()

    def current(self) -> Release:
        """The release that is under way, or that ended last."""
        found = self.store.current()
        assert found is not None
        return found

    def hifi(self, *arguments: str) -> Done:
        """A command, run to its end in this process."""
        return Hifi(None, self._settings()).run(*arguments)

    def begun(self, *arguments: str) -> "subprocess.Popen[str]":
        """Start a command as a process; it is killed at the end of the test."""
        process = HifiProcess(None, self._settings()).begin(*arguments)
        self._ending.callback(process.kill)
        return process

    def whole(self, version: str, *serving: str) -> None:
        """Check that these sides serve a version, the other one is parked, and every event ended well."""
        world = read_world(self.place)
        assert world.shares == {side: 100 // len(serving) * (side in serving) for side in world.sides}
        assert {side for side, each in world.sides.items() if not each.parked} == set(serving)
        assert {world.sides[side].version for side in serving} == {version}
        assert not world.refused
        assert [each for each in badly_ended(world) if not each.startswith(serving)] == []
        assert doubled(world) == []

    def _settings(self) -> dict[str, str]:
        return {"HIFI_DOCUMENTS_TABLE": self.table, "HIFI_DOCUMENTS_ENDPOINT": self.endpoint}
