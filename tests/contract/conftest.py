"""Fixtures that several kinds of contract tests share."""

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from scripts.local.jars import ensure_store
from scripts.local.kafka.cluster import Cluster
from scripts.local.ports import free_base
from scripts.local.processes import dynamodb_local as local_store
from scripts.local.side import Side
from shared.contracts.topics import topic_specs
from shared.dynamodb import client
from shared.dynamodb.client import create_table, dynamodb_client
from shared.kafka.admin import ensure_topics
from tests.contract.lanes import PATIENCE
from tests.contract.management.api_process import ApiProcess, running_api
from tests.contract.transmit_rig import Rig
from tests.harness.local_aws import local_aws
from tests.harness.scripted_observe import scripted_observe
from tests.harness.service_process import QUICK_TABLES
from tests.harness.waiting import eventually

STORE_SECONDS = 60.0
"""Seconds that the tests' own requests wait for a table."""

MEMORY = Path("/dev/shm")
MEMORY_BYTES = 1024**3
"""More than the tables of a test run hold."""


@pytest.fixture(scope="session", autouse=True)
def patient_tables() -> Iterator[None]:
    """This process waits for a store that stalls on a busy machine; other processes keep their timeouts."""

    def patient(**given: Any) -> Config:
        return Config(**given | {"connect_timeout": STORE_SECONDS, "read_timeout": STORE_SECONDS})

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(client, "Config", patient)
        yield


@pytest.fixture(scope="session", autouse=True)
def quick_tables() -> Iterator[None]:
    """Topic tables in this process are as fast as those in the processes that it starts."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in QUICK_TABLES.items():
            patch.setattr(name, value)
        yield


@pytest.fixture
def rig() -> Iterator[Rig]:
    """A worker, and a scripted destination."""
    fresh = Rig()
    yield fresh
    fresh.close()


@pytest.fixture(scope="session")
def dynamodb_local(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Run DynamoDB Local as a local side does; yields its URL."""
    side = Side(root=tmp_path_factory.mktemp("store"), port=free_base(), partitions=1)
    side.temporary.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix="hifi-", dir=_place_of_rows()) as folder:
        process = subprocess.Popen(
            local_store.command(Path(folder), side.store_port, side.temporary, ensure_store(print))
        )
        try:
            eventually(lambda: process.poll() is not None or _makes_tables(side.store_url), 240, "it answers")
            assert process.poll() is None
            yield side.store_url
        finally:
            process.terminate()
            process.wait()


def _place_of_rows() -> Path | None:
    """A folder in memory if there is room; otherwise each change waits for a disk. None is any place."""
    room = MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > MEMORY_BYTES
    return MEMORY if room else None


@pytest.fixture
def own_tables(dynamodb_local: str) -> Iterator[str]:
    """URL of DynamoDB Local; tables that a test makes are deleted after it.

    moto would copy the whole table for each write.
    """
    client = dynamodb_client(dynamodb_local)
    pages = client.get_paginator("list_tables")

    def names() -> set[str]:
        return {name for page in pages.paginate() for name in page["TableNames"]}

    before = names()
    yield dynamodb_local
    for name in names() - before:
        client.delete_table(TableName=name)


def _makes_tables(url: str) -> bool:
    """Whether it makes tables: on a busy machine its first answers may exceed the client's timeout."""
    try:
        create_table(dynamodb_client(url), "made-first", "partition", "sort")
    except (BotoCoreError, ClientError):
        return False
    return True


@pytest.fixture(scope="session")
def api(dynamodb_local: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiProcess]:
    """One management API for all tests; each test uses its own tenants."""
    with running_api(tmp_path_factory.mktemp("api"), dynamodb_local) as process:
        yield process


@pytest.fixture(scope="session")
def side_api(
    brokers: Cluster, dynamodb_local: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ApiProcess]:
    """The management API with its side's brokers, and an observe that answers every request."""
    ensure_topics(brokers.bootstrap, topic_specs(brokers.side.partitions))
    folder = tmp_path_factory.mktemp("api")
    with (
        scripted_observe() as observe,
        running_api(folder, dynamodb_local, bootstrap=brokers.bootstrap, observe_url=observe.url) as process,
    ):
        yield process


@pytest.fixture(params=[pytest.param("moto", marks=pytest.mark.proof), "DynamoDB Local"])
def url(request: pytest.FixtureRequest) -> Iterator[str]:
    """URL of a table service. `make test` uses DynamoDB Local, since moto copies a table for each write."""
    if request.param == "DynamoDB Local":
        yield request.getfixturevalue("dynamodb_local")
        return
    with local_aws() as found:
        yield found


@pytest.fixture
def fast() -> Iterator[Rig]:
    """The fast lane, which waits 0.5 s for an answer and 1 s for a slot: for tests of late answers."""
    found = Rig(lane="fast")
    yield found
    found.close()


@pytest.fixture
def patient() -> Iterator[Rig]:
    """The fast lane, which waits PATIENCE for an answer."""
    found = Rig(lane="fast", patience=PATIENCE)
    yield found
    found.close()


@pytest.fixture
def slow() -> Iterator[Rig]:
    found = Rig(lane="slow")
    yield found
    found.close()
