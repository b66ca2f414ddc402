"""An observe process, and questions to it."""

import http.client
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.harness.waiting import free_port


class ObserveProcess:
    """`python -m pipelines.control.observe` on a port of its own, quick to judge."""

    def __init__(self, bootstrap: str, store: str, log: Path, **settings: str) -> None:
        self.port, self.log = free_port(), log
        quick = {"look_seconds": "0.3", "store_seconds": "0", "settle_seconds": "1"} | settings
        env = os.environ | {
            "HIFI_BOOTSTRAP": bootstrap,
            "HIFI_PORT": str(self.port),
            "HIFI_STORE_ENDPOINT": store,
            **{f"HIFI_{name.upper()}": value for name, value in quick.items()},
        }
        with log.open("wb") as output:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "pipelines.control.observe"], env=env, stdout=output, stderr=output
            )

    def kill(self) -> None:
        """SIGKILL, and wait until it is gone."""
        self.process.kill()
        self.process.wait()

    def stop(self) -> int:
        """SIGTERM; gives the exit status."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(30)

    def ask(self, path: str, method: str = "GET", body: str | None = None) -> tuple[int, Any]:
        """Status and JSON of an answer, or its text where it is none."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        try:
            connection.request(method, path, body)
            response = connection.getresponse()
            text = response.read().decode()
            is_json = response.headers.get("content-type", "").startswith("application/json")
            return response.status, json.loads(text) if is_json else text
        finally:
            connection.close()

    def get(self, path: str) -> Any:
        """An answer that is 200."""
        status, found = self.ask(path)
        assert status == 200, found
        return found

    def ready(self) -> bool:
        """Whether /readyz answers 200."""
        assert self.process.poll() is None, self.log.read_text()
        try:
            return self.ask("/readyz")[0] == 200
        except OSError:
            return False

    def card(self, minute: int, tenant: str = "acme") -> Any:
        """A minute's card."""
        return self.get(f"/v1/minutes/{minute}?tenant={tenant}")
