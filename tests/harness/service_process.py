"""A service of hifi as a process on a port of its own, and plain HTTP requests to it."""

import http.client
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Final, Protocol

from tests.harness.forked_process import ForkedProcess, run_program
from tests.harness.waiting import free_port

HOST: Final = "127.0.0.1"
Body = bytes | str | None

QUICK_TABLES: Final = {
    "shared.kafka.background_reader.FETCH_WAIT_MS": 50,
    "shared.kafka.global_table.POLL_SECONDS": 0.05,
}
"""Times of tables of topics, with which they are loaded, and know of a change, within 0.1 s, not 0.7."""

_COUNTS_LINES: Final = "COVERAGE_PROCESS_CONFIG"
"""Environment variable of processes that are started under coverage.py."""


@dataclass(frozen=True)
class Answer:
    """A response with its body read."""

    status: int
    headers: Mapping[str, str]
    text: str

    @property
    def json(self) -> Any:
        return json.loads(self.text)


def request(
    port: int,
    method: str,
    path: str,
    body: Body = None,
    headers: Mapping[str, str] | None = None,
    *,
    seconds: float = 60,
) -> Answer:
    """Send a request to a port of this machine, on a connection of its own.

    Raises:
        OSError: if there is no response within `seconds`.
    """
    connection = http.client.HTTPConnection(HOST, port, timeout=seconds)
    try:
        connection.request(method, path, body, dict(headers or {}))
        response = connection.getresponse()
        return Answer(response.status, dict(response.getheaders()), response.read().decode())
    finally:
        connection.close()


def hifi_settings(settings: Mapping[str, str]) -> dict[str, str]:
    """Settings as environment variables: `look_seconds` becomes `HIFI_LOOK_SECONDS`."""
    return {f"HIFI_{name.upper()}": value for name, value in settings.items()}


class Running(Protocol):
    """The part of a process that tests use: `subprocess.Popen`, or something like it."""

    @property
    def pid(self) -> int: ...

    def poll(self) -> int | None: ...

    def wait(self, timeout: float | None = None) -> int: ...

    def send_signal(self, number: int, /) -> None: ...

    def kill(self) -> None: ...


class ServiceProcess:
    """`python -m PROGRAM`, listening on a free port; its output is appended to `log`.

    It is forked from a process that has imported the programs of all kinds that a run of tests has. Those of
    a whole side (`hifi up`) are started as users start them.
    """

    program: ClassVar[str]
    """The name of its module, which has a `main`."""

    times: ClassVar[Mapping[str, float]] = {}
    """Shorter values of intervals that are no settings, for which tests would wait: constants by their full
    names. Under coverage.py they are as always."""

    stop_seconds = 60
    """How long it may take from SIGTERM to its end."""

    request_seconds = 60
    """Time limit of a request to it."""

    def __init__(self, log: Path, environment: dict[str, str]) -> None:
        wanted = environment.get("HIFI_PORT", "")  # may be a wrong one on purpose
        self.port = int(wanted) if wanted.isdecimal() else free_port()
        self.log = log
        self._environment = os.environ | {"HIFI_PORT": str(self.port)} | environment
        self.process = self._start()

    @property
    def url(self) -> str:
        """Its address, without a slash at the end."""
        return f"http://{HOST}:{self.port}"

    def restart(self) -> None:
        """Start it again on the same port after it has ended."""
        self.process = self._start()

    def kill(self) -> None:
        """SIGKILL, and wait until it has ended."""
        self.process.kill()
        self.process.wait()

    def stop(self) -> int:
        """SIGTERM; returns the exit status."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(self.stop_seconds)

    def request(
        self, method: str, path: str, body: Body = None, headers: Mapping[str, str] | None = None
    ) -> Answer:
        """Send a request on a connection of its own.

        Raises:
            OSError: if the process does not answer.
        """
        return request(self.port, method, path, body, headers, seconds=self.request_seconds)

    def readiness(self) -> Answer | None:
        """The answer of /readyz; None while nothing listens. Fails if the process has ended."""
        assert self.process.poll() is None, self.log.read_text()
        try:
            return self.request("GET", "/readyz")
        except OSError:
            return None

    def ready(self) -> bool:
        """Whether /readyz answers 200."""
        answer = self.readiness()
        return answer is not None and answer.status == 200

    def _start(self) -> Running:
        if _COUNTS_LINES in os.environ:  # which begins with a new Python only
            with self.log.open("ab") as log:
                command = [sys.executable, "-m", self.program]
                return subprocess.Popen(command, env=self._environment, stdout=log, stderr=log)
        return self._forked(partial(run_program, self.program, {**QUICK_TABLES, **self.times}))

    def _forked(self, run: Callable[[], object]) -> Running:
        imported = [kind.program for kind in ServiceProcess.__subclasses__()]
        return ForkedProcess(run, self._environment, self.log, imported)


def end_all(processes: Iterable[ServiceProcess]) -> None:
    """End members of no group: at once, but where coverage.py counts their lines when they stop."""
    if _COUNTS_LINES in os.environ:
        stop_all(processes)
    for process in processes:
        process.kill()


def stop_all(processes: Iterable[ServiceProcess]) -> None:
    """Stop those that still run, in good order: no dead member stays in a consumer group."""
    for process in processes:
        if process.process.poll() is None:
            process.stop()
        process.kill()


def counts_lines() -> bool:
    """Whether coverage.py counts the lines of processes, for which they have to stop in good order."""
    return _COUNTS_LINES in os.environ
