"""A console process."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.harness.service_process import ServiceProcess, hifi_settings
from tests.harness.waiting import eventually

QUICK = {"poll_seconds": "0.3", "observe_timeout": "3"}


class ConsoleProcess(ServiceProcess):
    """The console on its own port; it polls observe often."""

    program = "pipelines.management.console.__main__"

    def __init__(self, observe_url: str, log: Path, **settings: str) -> None:
        where = {"HIFI_OBSERVE_URL": observe_url}
        super().__init__(log, where | hifi_settings(QUICK | settings))

    def open_pages(self) -> float:
        """Number of open pages, from its metrics."""
        lines = self.request("GET", "/metrics").text.splitlines()
        return float(next(line.split()[1] for line in lines if line.startswith("hifi_console_open_pages ")))


@contextmanager
def running_console(observe_port: int, log: Path, **settings: str) -> Iterator[ConsoleProcess]:
    """A console that is ready, until the block ends; it must end cleanly, with status 0."""
    process = ConsoleProcess(f"http://127.0.0.1:{observe_port}", log, **settings)
    eventually(process.ready)
    yield process
    assert process.stop() == 0
