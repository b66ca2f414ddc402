"""A whole side as real processes, which tests start, use and kill."""

import signal
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from http import HTTPStatus
from pathlib import Path
from typing import Any

import psutil
import yaml

from scripts.local.ports import free_base
from scripts.local.process_marks import kill
from scripts.local.processes.supervisor import Supervisor
from scripts.local.side import Side
from tests.harness.command_line import HIFI, Hifi
from tests.harness.live_processes import LiveProcesses

UP_SECONDS = 900
"""No promise: a start took 376 s at a load of 25, with all streams of `make test` on two slow cores."""

DOWN_SECONDS = 120
WARM_UP_SECONDS = "15"
"""A short warm-up: the tests' own events warm the side up too."""


class LiveSide(LiveProcesses):
    """A side in one folder, which may be started and stopped several times."""

    def __init__(
        self, root: Path, port: int, environment: Mapping[str, str], options: Sequence[str] = ()
    ) -> None:
        """`options` of `hifi up` beside those of all tests."""
        self.side = Side(root=root, port=port)
        self.supervisor = Supervisor(self.side)
        arguments = ("--port", str(port), "--partitions", "2", "--warm-up", WARM_UP_SECONDS, *options)
        super().__init__(root, arguments, environment, up_seconds=UP_SECONDS, down_seconds=DOWN_SECONDS)

    @classmethod
    def fresh(cls, folder: Path, *options: str, **environment: str) -> "LiveSide":
        """A side on free ports; the folder is created if it is missing."""
        folder.mkdir(parents=True, exist_ok=True)
        return cls(folder.absolute() / "data", free_base(), environment, options)

    @property
    def bootstrap(self) -> str:
        return self.side.bootstrap

    @property
    def url(self) -> str:
        return self.side.collect_url

    def kill(self, *programs: str) -> None:
        """SIGKILL every process of these programs, nearly at once."""
        kill([process for program in programs for process in self.processes(program)])

    def kill_leader(self, program: str) -> None:
        """SIGKILL only the process that the supervisor started, not its children."""
        kill([psutil.Process(self.supervisor.pid(program))])

    def hold_down(self, *programs: str) -> None:
        """SIGKILL programs and keep the supervisor from restarting them."""
        self.kill(*programs)
        for program in programs:
            self.supervisor.stop_program(program)
            kill(self.processes(program))

    def let_up(self, *programs: str) -> None:
        """Start programs that were held down."""
        for program in programs:
            self.supervisor.start_program(program)

    def apply(self, *documents: dict[str, Any]) -> None:
        """Publish documents by `hifi apply`."""
        path = self.side.root.with_name(self.side.root.name + ".yaml")
        path.write_text(yaml.safe_dump_all(documents))
        done = Hifi(self.side.root, {}).run("apply", str(path))
        assert done.returncode == 0, done.stdout + done.stderr

    def post(self, key: str, body: bytes, content_type: str) -> bool:
        """Whether collect accepted all events of a request; it takes a few seconds to know a new key."""
        headers = {"Authorization": f"Bearer {key}", "Content-Type": content_type}
        request = urllib.request.Request(f"{self.url}/v1/events", data=body, headers=headers)
        try:
            with urllib.request.urlopen(request, timeout=60) as reply:
                return bool(reply.status == HTTPStatus.ACCEPTED)
        except urllib.error.HTTPError as refusal:
            assert refusal.code == HTTPStatus.UNAUTHORIZED, refusal
            return False


@contextmanager
def sending(
    url: str, *, key: str, rate: int, batch: int, acked: Path, seconds: int = 1_200
) -> Iterator[None]:
    """Run `hifi send` with generated telemetry in the background until the block ends, `seconds` at most.

    At the end it completes its open requests, so `acked` is exact.
    """
    arguments = ("send", "--url", url, "--key", key, "--rate", str(rate), "--batch", str(batch))
    with acked.with_suffix(".log").open("wb") as output:
        process = subprocess.Popen(
            [*HIFI, *arguments, "--acked", str(acked), "--seconds", str(seconds)],
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        try:
            yield
            assert process.poll() is None, (
                "the sender ended unexpectedly: " + acked.with_suffix(".log").read_text()
            )
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(150)
