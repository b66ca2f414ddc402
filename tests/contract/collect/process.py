"""A collect process, and a client of it that speaks plain HTTP."""

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tests.harness.waiting import eventually, free_port

HOST: Final = "127.0.0.1"
KEY: Final = "demo-write-key"
EVENT: Final = "application/cloudevents+json"
BATCH: Final = "application/cloudevents-batch+json"
LINES: Final = "application/x-ndjson"
PLAIN: Final = "application/json"


@dataclass(frozen=True)
class Answer:
    """A reply, its body read."""

    status: int
    headers: Mapping[str, str]
    text: str

    @property
    def json(self) -> Any:
        return json.loads(self.text)


class CollectProcess:
    """`python -m pipelines.data.collect` on a port of its own."""

    def __init__(self, bootstrap: str, log: Path, **settings: str) -> None:
        self.port = free_port()
        self._log = log
        self._env = os.environ | {"HIFI_BOOTSTRAP": bootstrap, "HIFI_PORT": str(self.port)}
        self._env |= {f"HIFI_{name.upper()}": value for name, value in settings.items()}
        self.process = self._start()

    def restart(self) -> None:
        """Start again, on the same port, after an end."""
        self.process = self._start()

    def kill(self) -> None:
        """SIGKILL, and wait until it is gone."""
        self.process.kill()
        self.process.wait()

    def stop(self) -> int:
        """SIGTERM; gives the exit status."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(40)

    def wait_ready(self, seconds: float = 60) -> None:
        eventually(self.ready, seconds)

    def ready(self) -> bool:
        try:
            return self.request("GET", "/readyz").status == 200
        except OSError:
            return False

    def request(
        self, method: str, path: str, body: bytes | None = None, headers: Mapping[str, str] | None = None
    ) -> Answer:
        connection = http.client.HTTPConnection(HOST, self.port, timeout=40)
        try:
            connection.request(method, path, body, dict(headers or {}))
            response = connection.getresponse()
            return Answer(response.status, dict(response.getheaders()), response.read().decode())
        finally:
            connection.close()

    def post(self, body: bytes, content_type: str = EVENT, key: str = KEY, **headers: str) -> Answer:
        """Header names are given with underscores."""
        given = {"authorization": f"Bearer {key}", "content-type": content_type}
        given |= {name.replace("_", "-"): value for name, value in headers.items()}
        return self.request("POST", "/v1/events", body, given)

    def raw(self, data: bytes, seconds: float = 10) -> bytes:
        """Send bytes as they are; gives what comes back until the connection ends or is silent."""
        with socket.create_connection((HOST, self.port), timeout=seconds) as connection:
            connection.sendall(data)
            return read_until_silent(connection)

    def metric(self, name: str) -> float:
        """The sum of a metric's samples."""
        lines = self.request("GET", "/metrics").text.splitlines()
        return sum(float(line.split()[-1]) for line in lines if line.startswith((name + " ", name + "{")))

    def _start(self) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "pipelines.data.collect"]
        with self._log.open("ab") as log:
            return subprocess.Popen(command, env=self._env, stdout=log, stderr=log)


def read_until_silent(connection: socket.socket) -> bytes:
    received = b""
    try:
        while piece := connection.recv(65536):
            received += piece
    except (TimeoutError, ConnectionResetError):
        pass
    return received


def event(**members: Any) -> dict[str, Any]:
    """A CloudEvent; a member given as None is left out."""
    whole = {"specversion": "1.0", "id": "e1", "source": "/test", "type": "t", "data": {"n": 1}} | members
    return {name: value for name, value in whole.items() if value is not None}


def encoded(*events: object) -> bytes:
    """One event as an object, more of them as an array."""
    return json.dumps(events[0] if len(events) == 1 else events).encode()
