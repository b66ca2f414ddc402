"""A console process."""

from pathlib import Path

from tests.harness.service_process import ServiceProcess, hifi_settings

QUICK = {"poll_seconds": "0.3", "observe_timeout": "3"}


class ConsoleProcess(ServiceProcess):
    """The console on a port of its own; it asks observe often."""

    def __init__(self, observe_url: str, log: Path, **settings: str) -> None:
        where = {"HIFI_BOOTSTRAP": "not-needed:9092", "HIFI_OBSERVE_URL": observe_url}
        super().__init__("pipelines.management.console", log, where | hifi_settings(QUICK | settings))

    def open_pages(self) -> float:
        """Number of open pages, by its metrics."""
        lines = self.request("GET", "/metrics").text.splitlines()
        return float(next(line.split()[1] for line in lines if line.startswith("hifi_console_open_pages ")))
