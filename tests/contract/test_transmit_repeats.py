"""transmit's worker on real brokers counts a repeated event by Spark's information about the task."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from pipelines.data.transmit import worker
from tests.contract.worker_rig import (
    accepting_server,
    documents,
    documents_removed,
    results,
    running_worker,
)
from tests.harness.scripted_server import Server

RUN, BATCH = "spark.jobGroup.id", "streaming.sql.batchId"


@dataclass
class Context:
    """Spark's information about the present task."""

    attempt: int = 0
    properties: dict[str, str] = field(default_factory=dict)

    def get(self) -> "Context":
        return self

    def getLocalProperty(self, name: str) -> str | None:  # noqa: N802  # Spark's name
        return self.properties.get(name)

    def attemptNumber(self) -> int:  # noqa: N802
        return self.attempt


@pytest.fixture
def context(monkeypatch: pytest.MonkeyPatch) -> Context:
    found = Context()
    monkeypatch.setattr(worker, "TaskContext", found)
    return found


@pytest.fixture
def server() -> Iterator[Server]:
    with accepting_server() as found:
        yield found


@pytest.fixture
def sending(topics: str, server: Server, tmp_path: Path, context: Context) -> Iterator[worker.Worker]:
    """A worker with a pipe; it reads no receipts, as its output goes nowhere."""
    with documents_removed(topics, "repeats") as config:
        config.publish(*documents("repeats", url=f"http://127.0.0.1:{server.port}/"))
        with running_worker(topics, tmp_path) as found:
            yield found


def test_an_event_of_the_micro_batch_before_is_a_duplicate_unless_its_receipt_may_be_missing(
    sending: worker.Worker, server: Server, context: Context
) -> None:
    context.properties = {RUN: "first", BATCH: "7"}
    assert results(sending, "repeats", 1) == ["delivered"]
    context.attempt = 1
    assert results(sending, "repeats", 1) == ["delivered"], "the former try may have ended before its receipt"
    context.attempt = 0
    context.properties = {RUN: "first", BATCH: "8"}
    assert results(sending, "repeats", 1) == ["duplicate"]
    context.properties = {RUN: "second", BATCH: "9"}
    assert results(sending, "repeats", 1) == ["delivered"], "the former run may have ended before its receipt"
    assert len(server.bodies) == 1
