"""The provisioner as a process, and the commands' settings beside it."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

from shared.contracts.document_items import DOCUMENTS_TABLE
from shared.runtime.metrics import ProvisionMetric
from tests.harness.service_process import ServiceProcess, hifi_settings
from tests.harness.waiting import eventually

START_SECONDS = 120
"""Most seconds until it is ready on a busy machine."""


class ProvisionProcess(ServiceProcess):
    """`python -m pipelines.control.provision`, with short pauses."""

    program = "pipelines.control.provision.__main__"

    def __init__(self, bootstrap: str, endpoint: str, table: str, log: Path, **more: str) -> None:
        settings = {
            "HIFI_BOOTSTRAP": bootstrap,
            "HIFI_DOCUMENTS_TABLE": table,
            "HIFI_DOCUMENTS_ENDPOINT": endpoint,
            "HIFI_PROVISION_SECONDS": "0.2",
            "HIFI_LEASE_SECONDS": "2",
            "HIFI_ROLLOUT_SECONDS": "0.3",
        }
        super().__init__(log, settings | hifi_settings(more))

    def leads(self) -> bool:
        """Whether it says so; one that does not answer yet does not lead."""
        try:
            return f"{ProvisionMetric.LEADER} 1.0" in self.request("GET", "/metrics").text
        except OSError:
            return False


@contextmanager
def provisioned(bootstrap: str, endpoint: str, folder: Path) -> Iterator[dict[str, str]]:
    """A table of its own and its provisioner; yields the settings with which `hifi` finds both."""
    table = f"{DOCUMENTS_TABLE}-{uuid4().hex[:8]}"
    process = ProvisionProcess(bootstrap, endpoint, table, folder / "provision.log")
    try:
        eventually(process.ready, START_SECONDS, "the provisioner is ready")
        yield {
            "HIFI_BOOTSTRAP": bootstrap,
            "HIFI_ALLOW_LOOPBACK": "true",
            "HIFI_DOCUMENTS_TABLE": table,
            "HIFI_DOCUMENTS_ENDPOINT": endpoint,
        }
    finally:
        process.kill()
