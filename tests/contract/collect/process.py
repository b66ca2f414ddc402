"""A collect process, and a client of it that speaks plain HTTP."""

import json
import socket
from pathlib import Path
from typing import Any, Final

from tests.harness.service_process import HOST, Answer, ServiceProcess, hifi_settings
from tests.harness.waiting import eventually

KEY: Final = "demo-write-key"
EVENT: Final = "application/cloudevents+json"
BATCH: Final = "application/cloudevents-batch+json"
LINES: Final = "application/x-ndjson"
PLAIN: Final = "application/json"


class CollectProcess(ServiceProcess):
    """collect on a port of its own."""

    program = "pipelines.data.collect.__main__"
    stop_seconds = request_seconds = 120

    def __init__(self, bootstrap: str, log: Path, **settings: str) -> None:
        """Timeouts are a minute unless `settings` change them: brokers, or a client here, may stall."""
        patient = dict.fromkeys(("ack_timeout", "body_timeout", "head_timeout", "drain_timeout"), "60")
        super().__init__(log, {"HIFI_BOOTSTRAP": bootstrap} | hifi_settings(patient | settings))

    def wait_ready(self, seconds: float = 120) -> None:
        eventually(self.ready, seconds)

    def post(self, body: bytes, content_type: str = EVENT, key: str = KEY, **headers: str) -> Answer:
        """Header names are given with underscores."""
        given = {"authorization": f"Bearer {key}", "content-type": content_type}
        given |= {name.replace("_", "-"): value for name, value in headers.items()}
        return self.request("POST", "/v1/events", body, given)

    def raw(self, data: bytes, seconds: float = 60) -> bytes:
        """Send raw bytes; returns what is received until the connection ends or is silent."""
        with socket.create_connection((HOST, self.port), timeout=seconds) as connection:
            connection.sendall(data)
            return read_until_silent(connection)

    def metric(self, name: str) -> float:
        """The sum of a metric's samples."""
        lines = self.request("GET", "/metrics").text.splitlines()
        return sum(float(line.split()[-1]) for line in lines if line.startswith((name + " ", name + "{")))


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
    """One event as an object, several as an array."""
    return json.dumps(events[0] if len(events) == 1 else events).encode()


GOOD: Final = encoded(event())
"""The body of a valid event."""
