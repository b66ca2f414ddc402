"""A worker of transmit as Spark starts it, on real brokers; a test hands it rows in Spark's place."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from pipelines.data.transmit.settings import TransmitSettings
from pipelines.data.transmit.worker import Worker
from shared.contracts.documents import Destination, Pipe
from shared.contracts.publish_plan import document_key
from shared.contracts.receipts import Receipt
from shared.contracts.topics import Topic
from tests.harness.scripted_server import Loop, Server, reply
from tests.harness.topics import Topics
from tests.unit.pipelines.data.transmit.transmit_events import flat_batch, row


@contextmanager
def accepting_server() -> Iterator[Server]:
    """A destination that accepts requests to /."""
    loop = Loop()
    server = Server(loop)
    server.answer("/", reply(200))
    yield server
    server.close()
    loop.close()


def documents(name: str, **options: object) -> tuple[Destination, Pipe]:
    """A pipe, and a destination of the same name."""
    return (
        Destination(name=name, tenant="t", connector="webhook", options=options),
        Pipe(name=name, tenant="t", source="s", destination=name),
    )


@contextmanager
def documents_removed(bootstrap: str, *names: str) -> Iterator[Topics]:
    """The side's topics; deletes the pipes and destinations with these names at the end."""
    found = Topics(bootstrap)
    yield found
    for name in names:
        for document in documents(name):
            found.put(Topic.CONFIG, None, [], document_key(document))
    found.flush()


@contextmanager
def running_worker(bootstrap: str, folder: Path) -> Iterator[Worker]:
    """A worker of the slow lane, which waits for every destination and for every pipe."""
    settings = TransmitSettings.model_validate(
        {
            "bootstrap": bootstrap,
            "allow_loopback": True,
            "checkpoints": str(folder),
            "jars": folder,
            "pipe_wait_seconds": 60,
        }
    )
    found = Worker(settings, "slow")
    try:
        yield found
    finally:
        found.close()


def results(worker: Worker, pipe: str, number: int) -> list[str]:
    """The results in the receipts of a task with one event; if it was sent it writes nothing else."""
    written = list(worker.run([flat_batch([row(number, pipe=pipe)])]))
    return [
        msgspec.json.decode(value, type=Receipt).result if topic == Topic.RECEIPTS else topic
        for batch in written
        for topic, value in zip(*(batch.column(name).to_pylist() for name in ("topic", "value")), strict=True)
    ]
