"""transmit's worker on real brokers: a new destination's secret is there for its first event."""

import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from pipelines.data.transmit import worker
from pipelines.data.transmit.settings import TransmitSettings
from shared.contracts.documents import Destination, Pipe
from shared.contracts.publish_plan import document_key
from shared.contracts.topics import Topic
from tests.harness.scripted_server import Loop, Server, reply
from tests.harness.topics import Topics
from tests.unit.pipelines.data.transmit.transmit_events import flat_batch, row

NAMES = ("warm-up", "new")


class SlowStore:
    """Takes half a second for the values of all names."""

    def fetch(self, names: Sequence[str]) -> Iterator[Mapping[str, str | None]]:
        time.sleep(0.5)
        yield dict.fromkeys(names, "value")


@pytest.fixture
def server() -> Iterator[Server]:
    loop = Loop()
    server = Server(loop)
    server.answer("/", reply(200))
    yield server
    server.close()
    loop.close()


@pytest.fixture
def config(topics: str) -> Iterator[Topics]:
    found = Topics(topics)
    yield found
    for name in NAMES:
        for document in documents(name):
            found.put(Topic.CONFIG, None, [], document_key(document))
    found.flush()


def documents(name: str, **options: object) -> tuple[Destination, Pipe]:
    """A pipe, and a destination of the same name."""
    return (
        Destination(name=name, tenant="t", connector="webhook", options=options),
        Pipe(name=name, tenant="t", source="s", destination=name),
    )


@pytest.fixture
def sending(
    config: Topics, server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[worker.Worker]:
    """A worker that has sent before: it has loaded what it needs."""
    monkeypatch.setattr(worker, "store_for", lambda *_: SlowStore())
    settings = TransmitSettings.model_validate(
        {
            "bootstrap": config.bootstrap,
            "allow_loopback": True,
            "checkpoints": str(tmp_path),
            "jars": tmp_path,
            "pipe_wait_seconds": 60,
        }
    )
    config.publish(*documents("warm-up", url=f"http://127.0.0.1:{server.port}/"))
    found = worker.Worker(settings, "slow")
    assert topics_of(found, "warm-up") == {Topic.RECEIPTS}
    yield found
    found.close()


def topics_of(sending: worker.Worker, pipe: str) -> set[str]:
    """The topics that it writes to for an event of a pipe."""
    written = list(sending.run([flat_batch([row(NAMES.index(pipe), pipe=pipe)])]))
    return {topic for batch in written for topic in batch.column("topic").to_pylist()}


def test_the_first_event_of_a_new_destination_is_sent_with_its_secret(
    config: Topics, sending: worker.Worker, server: Server
) -> None:
    auth = {"type": "bearer", "token": "secret://t/new"}
    config.publish(*documents("new", url=f"http://127.0.0.1:{server.port}/", auth=auth))
    assert topics_of(sending, "new") == {Topic.RECEIPTS}
    assert b"Authorization: Bearer value" in server.heads[-1]
