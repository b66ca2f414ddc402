"""collect on real brokers."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer

from shared.contracts.documents import Entry, Source, encode_entry, sealed
from shared.contracts.publish_plan import document_key
from shared.contracts.topics import Topic
from shared.kafka.producer import producer_config
from tests.contract.collect.collected import Collected
from tests.contract.collect.process import KEY, CollectProcess

Start = Callable[..., CollectProcess]


def publish(bootstrap: str, source: Source) -> None:
    producer = Producer(producer_config(bootstrap, "test"))
    entry = Entry(version=1, document=sealed(source))
    producer.produce(Topic.CONFIG, encode_entry(entry), document_key(source))
    assert producer.flush(60) == 0


@pytest.fixture(scope="session")
def bootstrap(configured: str) -> str:
    """Brokers with all topics and one source, `players`."""
    publish(configured, Source(name="players", tenant="acme", write_keys=[KEY]))
    return configured


@pytest.fixture(scope="session")
def collect(bootstrap: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[CollectProcess]:
    """A process that many tests share."""
    log = tmp_path_factory.mktemp("collect") / "collect.log"
    process = CollectProcess(bootstrap, log)
    try:
        process.wait_ready()
        yield process
        assert "unexpected" not in log.read_text()
    finally:
        process.kill()


@pytest.fixture
def start(bootstrap: str, tmp_path: Path) -> Iterator[Start]:
    """Starts processes for one test, waits until they are ready, and ends them."""
    started: list[CollectProcess] = []

    def begin(**settings: str) -> CollectProcess:
        started.append(CollectProcess(bootstrap, tmp_path / f"{len(started)}.log", **settings))
        started[-1].wait_ready()
        return started[-1]

    yield begin
    for process in started:
        process.kill()


@pytest.fixture
def collected(bootstrap: str) -> Iterator[Collected]:
    """The records written to `collected` during the test."""
    reader = Collected(bootstrap)
    yield reader
    reader.close()
