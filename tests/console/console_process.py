"""A console process."""

import os
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

from tests.harness.waiting import free_port


class ConsoleProcess:
    """`python -m pipelines.management.console` on a port of its own, quick to look."""

    def __init__(self, observe_url: str, log: Path, **settings: str) -> None:
        self.port, self.log = free_port(), log
        self.url = f"http://127.0.0.1:{self.port}/"
        quick = {"look_seconds": "0.3", "observe_timeout": "3"} | settings
        env = os.environ | {
            "HIFI_BOOTSTRAP": "not-needed:9092",
            "HIFI_PORT": str(self.port),
            "HIFI_OBSERVE_URL": observe_url,
            **{f"HIFI_{name.upper()}": value for name, value in quick.items()},
        }
        with log.open("wb") as output:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "pipelines.management.console"], env=env, stdout=output, stderr=output
            )

    def stop(self) -> int:
        """SIGTERM; gives the exit status."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(15)

    def get(self, path: str) -> str:
        """The text of an answer."""
        with urllib.request.urlopen(self.url + path, timeout=10) as answer:
            return str(answer.read().decode())

    def open_pages(self) -> float:
        """What its metrics say."""
        lines = self.get("metrics").splitlines()
        return float(next(line.split()[1] for line in lines if line.startswith("hifi_console_open_pages ")))

    def ready(self) -> bool:
        """Whether /readyz answers 200."""
        assert self.process.poll() is None, self.log.read_text()
        try:
            return bool(self.get("readyz"))
        except OSError:
            return False
