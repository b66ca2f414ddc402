"""Provision processes over real brokers and DynamoDB Local."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from shared.dynamodb.document_table import DocumentTable
from tests.contract.provision.rollout_rig import Rig
from tests.harness.provision_process import START_SECONDS, ProvisionProcess
from tests.harness.service_process import stop_all
from tests.harness.waiting import eventually

TABLE = "documents"

Start = Callable[..., ProvisionProcess]


@pytest.fixture
def endpoint(own_tables: str) -> str:
    return own_tables


@pytest.fixture
def table(endpoint: str) -> DocumentTable:
    made = DocumentTable(TABLE, endpoint)
    made.ensure()
    return made


@pytest.fixture
def rig(endpoint: str, table: DocumentTable) -> Rig:
    """A pipe with a rollout; its steps are due when the test says so."""
    return Rig(endpoint, TABLE)


@pytest.fixture
def start(topics: str, endpoint: str, tmp_path: Path) -> Iterator[Start]:
    """Starts processes for one test, ready, and stops them cleanly.

    None ends in the middle of a transaction, at which readers would wait.
    """
    with ExitStack() as ending:
        started: list[ProvisionProcess] = []

        def begin(kind: type[ProvisionProcess] = ProvisionProcess) -> ProvisionProcess:
            started.append(kind(topics, endpoint, TABLE, tmp_path / f"{len(started)}.log"))
            ending.callback(started[-1].kill)
            ending.callback(stop_all, [started[-1]])
            eventually(started[-1].ready, START_SECONDS, "the provisioner is ready")
            return started[-1]

        yield begin
