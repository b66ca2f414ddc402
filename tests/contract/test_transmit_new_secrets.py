"""transmit's worker on real brokers has the secrets that its documents name, old and new ones."""

import time
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import count
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
from tests.harness.topics import Topics
from tests.harness.waiting import eventually


class SlowStore:
    """Takes half a second to answer for all names. Each secret's value is its name."""

    def fetch(self, names: Sequence[str]) -> Iterator[Mapping[str, str | None]]:
        time.sleep(0.5)
        yield {name: name for name in names}


@pytest.fixture
def server() -> Iterator[Server]:
    with accepting_server() as found:
        yield found


@pytest.fixture
def config(topics: str) -> Iterator[Topics]:
    with documents_removed(topics, "warm-up", "new") as found:
        yield found


@pytest.fixture
def sending(
    config: Topics, server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[worker.Worker]:
    """A worker that has sent before, so it has loaded everything."""
    monkeypatch.setattr(worker, "store_for", lambda *_: SlowStore())
    config.publish(*documents("warm-up", url=f"http://127.0.0.1:{server.port}/"))
    with running_worker(config.bootstrap, tmp_path) as found:
        assert results(found, "warm-up", 0) == ["delivered"]
        yield found


def publish(config: Topics, server: Server, secret: str) -> None:
    """Publish a secret that requests to the destination `new` must carry from now on."""
    auth = {"type": "bearer", "token": f"secret://{secret}"}
    config.publish(*documents("new", url=f"http://127.0.0.1:{server.port}/", auth=auth))


def bears(server: Server, secret: str) -> bool:
    """Whether the last request carries it."""
    return f"Authorization: Bearer {secret}".encode() in server.heads[-1]


def test_the_first_event_of_a_new_destination_is_sent_with_its_secret(
    config: Topics, sending: worker.Worker, server: Server
) -> None:
    publish(config, server, "t/first")
    assert results(sending, "new", 1) == ["delivered"]
    assert bears(server, "t/first")


def test_all_events_are_sent_while_their_destination_changes_to_another_secret(
    config: Topics, sending: worker.Worker, server: Server
) -> None:
    ended, numbers = list[str](), count(1)

    def send_until_used(secret: str) -> bool:
        ended.extend(results(sending, "new", next(numbers)))
        return bears(server, secret)

    for secret in ("t/old", "t/new"):
        publish(config, server, secret)
        eventually(partial(send_until_used, secret), every=0)
    assert set(ended) == {"delivered"}
