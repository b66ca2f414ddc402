"""Observe processes over real brokers and DynamoDB Local."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.harness.observe_process import ObserveProcess, running_observe
from tests.harness.service_process import end_all
from tests.harness.waiting import eventually

Start = Callable[..., ObserveProcess]


@pytest.fixture
def store_url(own_tables: str) -> str:
    return own_tables


@pytest.fixture
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let batch writes take several requests, so that a process can end between them."""
    monkeypatch.setattr("pipelines.control.observe.dynamodb.MOST_TOGETHER", 25)


@pytest.fixture
def start(topics: str, store_url: str, tmp_path: Path) -> Iterator[Start]:
    """Starts processes for one test, waits until they are ready, and ends them."""
    started: list[ObserveProcess] = []

    def begin(wait: bool = True, bootstrap: str = topics, **settings: str) -> ObserveProcess:
        started.append(ObserveProcess(bootstrap, store_url, tmp_path / f"{len(started)}.log", **settings))
        if wait:
            eventually(started[-1].ready)
        return started[-1]

    yield begin
    end_all(started)


@pytest.fixture(scope="module")
def asked(
    configured: str, dynamodb_local: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ObserveProcess]:
    """A process for requests that need no data, shared by the tests of a module."""
    with running_observe(configured, dynamodb_local, tmp_path_factory.mktemp("asked")) as process:
        yield process
