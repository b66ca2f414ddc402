"""What every trial needs of a running side: documents for a while, a load, and what receipts say of it."""

import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from scripts.documents import topic
from scripts.experiments.bench.results import Load, Sent
from scripts.experiments.bench.subprocesses import ChainError
from scripts.experiments.bench.topic_tail import records_since
from scripts.local.side import Side
from shared.contracts.documents import LIVE_SECONDS, Batch, Destination, Document, Pipe, Source
from shared.contracts.headers import PIPE
from shared.contracts.receipts import Receipt
from shared.contracts.topics import Topic

Say = Callable[[str], None]

KEY: Final = "trial-write-key"
NAME: Final = "trial"
"""Of the source and of the tenant."""

_USUAL: Final = Batch()
_GRACE_SECONDS: Final = 60.0
_READ_SECONDS: Final = 300.0


class Delivery(NamedTuple):
    """One event that arrived."""

    pipe: str
    attempt: int
    received_ms: int
    departed_ms: int

    @property
    def lag_ms(self) -> int:
        """From its last byte in to the destination's answer."""
        return self.departed_ms - self.received_ms


@contextmanager
def configured(side: Side, urls: dict[str, str], batch: Batch = _USUAL) -> Iterator[None]:
    """One source, with a pipe and a destination of each name, in force; removed again at the end.

    Raises:
        PublishError: if the brokers do not acknowledge.
    """
    documents: list[Document] = [Source(name=NAME, tenant=NAME, write_keys=[KEY])]
    for name, url in urls.items():
        documents.append(Destination(name=name, tenant=NAME, options={"url": url}, batch=batch))
        documents.append(Pipe(name=name, tenant=NAME, source=NAME, destination=name))
    topic.publish(side.bootstrap, topic.records_of(documents))
    try:
        time.sleep(LIVE_SECONDS)
        yield
    finally:
        topic.publish(side.bootstrap, topic.tombstones_of(documents))


class Offering:
    """The load generator at work, as a process of its own."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self._process = process

    def result(self, seconds: float) -> Sent:
        """What it sent, once it is done.

        Raises:
            ChainError: if it fails, or is not done within `seconds`.
        """
        try:
            output, _ = self._process.communicate(timeout=seconds + _GRACE_SECONDS)
            return msgspec.json.decode(output, type=Sent)
        except (subprocess.SubprocessError, msgspec.MsgspecError) as error:
            raise ChainError(f"the load generator failed: {error}") from error


@contextmanager
def offering(side: Side, load: Load, acked: Path) -> Iterator[Offering]:
    """A load on its way; `acked` gets the ids that collect acknowledged."""
    options: Sequence[object] = (side.collect_url, KEY, load.rate, load.batch, load.seconds, acked)
    command = [sys.executable, "-m", "scripts.experiments.bench.load_generator", *map(str, options)]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as process:
        try:
            yield Offering(process)
        finally:
            process.terminate()


def handed_on(bootstrap: str, since_ms: int) -> Counter[str]:
    """How many events of each pipe went to the slow lane since a moment; a destination may see those twice.

    Raises:
        KafkaException: if the brokers do not answer.
        TimeoutError: if the topic could not be read in time.
    """
    messages = records_since(bootstrap, Topic.OUTBOUND_SLOW, since_ms, _READ_SECONDS)
    pipes = (dict(message.headers() or ()).get(PIPE) for message in messages)
    return Counter(pipe.decode() for pipe in pipes if isinstance(pipe, bytes))


_decoder = msgspec.json.Decoder(Receipt)


def deliveries(bootstrap: str, since_ms: int) -> Iterator[Delivery]:
    """Every event that a destination took since a moment, by the receipts.

    Raises:
        KafkaException: if the brokers do not answer.
        TimeoutError: if the receipts could not be read in time.
    """
    for message in records_since(bootstrap, Topic.RECEIPTS, since_ms, _READ_SECONDS):
        receipt = _decoder.decode(message.value() or b"")
        if receipt.result == "delivered":
            for received_ms in receipt.received_ms:
                yield Delivery(receipt.pipe, receipt.attempt, received_ms, receipt.departed_ms)
