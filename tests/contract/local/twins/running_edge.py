"""A real HAProxy in front of two small services."""

import signal
import subprocess
import threading
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import psutil
import pytest

from scripts.local.addresses import HOST
from scripts.local.ports import free_base
from scripts.local.twins.place import Twins
from scripts.local.twins.programs import haproxy, haproxy_command
from scripts.local.twins.runtime_api import HaproxyError
from scripts.local.twins.traffic import LocalTraffic
from tests.harness.http_server import STOP_SECONDS
from tests.harness.twins_ports import TWINS_PORTS
from tests.harness.waiting import eventually

needs_haproxy = pytest.mark.skipif(
    haproxy() is None, reason="haproxy is not installed: scripts/setup.sh edge"
)

ALL_BLUE = {"blue": 100, "green": 0}
ALL_GREEN = {"blue": 0, "green": 100}
ANSWER_SECONDS = 50
"""HAProxy itself waits a minute for an answer."""


class Service:
    """Answers with its side's name; at `/slow` only once it is permitted."""

    def __init__(self, name: str, port: int) -> None:
        self.healthy = True
        self.let, self.entered = threading.Event(), threading.Event()
        service = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                status = 200 if service.healthy or self.path != "/readyz" else 503
                if self.path == "/slow":
                    service.entered.set()
                    service.let.wait(ANSWER_SECONDS)
                self.send_response(status)
                self.send_header("Content-Length", str(len(name)))
                self.end_headers()
                self.wfile.write(name.encode())

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer((HOST, port), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(STOP_SECONDS,), daemon=True)
        self._thread.start()

    def end(self) -> None:
        """Refuse connections from now on."""
        self._server.shutdown()
        self._server.server_close()


class Running:
    """HAProxy before two services."""

    def __init__(self, twins: Twins) -> None:
        self.twins, self.traffic = twins, LocalTraffic(twins)
        self.services = {side.name: Service(side.name, side.collect_port) for side in twins.sides}
        self.process = self._start()

    def _start(self) -> "subprocess.Popen[bytes]":
        with (self.twins.edge.logs / "haproxy.log").open("ab") as log:
            process = subprocess.Popen(haproxy_command(self.twins.edge), stdout=log, stderr=log)
        eventually(lambda: process.poll() is not None or self._answers())
        assert process.poll() is None, (self.twins.edge.logs / "haproxy.log").read_text()
        return process

    def restart(self) -> None:
        """Kill HAProxy and start it again, as the supervisor does."""
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(60)
        self.process = self._start()

    def reload(self) -> None:
        """Reload HAProxy's configuration. An HAProxy that has just started may miss the signal."""
        master, until = psutil.Process(self.process.pid), time.monotonic() + 60
        before = {each.pid for each in master.children()}
        while time.monotonic() < until:
            master.send_signal(signal.SIGUSR2)
            for _ in range(50):
                if {each.pid for each in master.children()} - before:
                    return
                time.sleep(0.1)
        raise AssertionError("no new worker")

    def _answers(self) -> bool:
        try:
            return all(each.up for each in self.traffic.servers())
        except HaproxyError:
            return False

    def get(self, path: str = "/", *, key: str = "") -> str:
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        asked = urllib.request.Request(f"{self.twins.edge.events_url}{path}", headers=headers)
        with urllib.request.urlopen(asked, timeout=120) as reply:
            return str(reply.read().decode())

    def shares(self, requests: int = 100) -> Counter[str]:
        return Counter(self.get() for _ in range(requests))

    def end(self) -> None:
        for service in self.services.values():
            service.let.set()
            service.end()
        self.process.terminate()
        self.process.wait(60)


@contextmanager
def edge(folder: Path) -> Iterator[Running]:
    twins = Twins(root=folder, port=free_base(count=TWINS_PORTS))
    twins.create()
    LocalTraffic(twins).prepare()
    running = Running(twins)
    try:
        yield running
    finally:
        running.end()


def is_up(running: Running, name: str) -> bool:
    return next(each.up for each in running.traffic.servers() if each.side == name)
