"""Provision processes over real brokers and moto's DynamoDB."""

import http.client
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from shared.dynamodb.document_table import DocumentTable
from shared.runtime.metrics import ProvisionMetric
from tests.harness.local_aws import local_aws
from tests.harness.waiting import eventually, free_port

TABLE = "documents"


class ProvisionProcess:
    """`python -m pipelines.control.provision` on a port of its own."""

    def __init__(self, bootstrap: str, endpoint: str, log: Path) -> None:
        self.port, self.log = free_port(), log
        env = os.environ | {
            "HIFI_BOOTSTRAP": bootstrap,
            "HIFI_PORT": str(self.port),
            "HIFI_DOCUMENTS_TABLE": TABLE,
            "HIFI_DOCUMENTS_ENDPOINT": endpoint,
            "HIFI_PROVISION_SECONDS": "0.3",
            "HIFI_LEASE_SECONDS": "3",
        }
        with log.open("wb") as output:
            command = [sys.executable, "-m", "pipelines.control.provision"]
            self.process = subprocess.Popen(command, env=env, stdout=output, stderr=output)

    def ready(self) -> bool:
        """Whether /readyz answers 200."""
        try:
            return self._get("/readyz")[0] == 200
        except OSError:
            return False

    def leads(self) -> bool:
        """Whether it says so."""
        return f"{ProvisionMetric.LEADER} 1.0" in self._get("/metrics")[1]

    def _get(self, path: str) -> tuple[int, str]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        try:
            connection.request("GET", path)
            response = connection.getresponse()
            return response.status, response.read().decode()
        finally:
            connection.close()

    def kill(self) -> None:
        """SIGKILL, and wait until it is gone."""
        self.process.kill()
        self.process.wait()


Start = Callable[[], ProvisionProcess]


@pytest.fixture
def endpoint() -> Iterator[str]:
    with local_aws() as url:
        yield url


@pytest.fixture
def table(endpoint: str) -> DocumentTable:
    made = DocumentTable(TABLE, endpoint)
    made.ensure()
    return made


@pytest.fixture
def start(topics: str, endpoint: str, tmp_path: Path) -> Iterator[Start]:
    """Starts processes of the test's own, ready, and ends them."""
    with ExitStack() as ending:
        started: list[ProvisionProcess] = []

        def begin() -> ProvisionProcess:
            started.append(ProvisionProcess(topics, endpoint, tmp_path / f"{len(started)}.log"))
            ending.callback(started[-1].kill)
            eventually(started[-1].ready, 30, "the provisioner is ready")
            return started[-1]

        yield begin
