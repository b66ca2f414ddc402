"""Documents and receipts of a trial on a running side."""

import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, NamedTuple

from scripts.experiments.harness.topic_reader import receipts_since, records_since
from scripts.local.client.documents import documents_of
from scripts.local.side import Side
from shared.contracts.documents import LIVE_SECONDS, Batch, Destination, Document, Pipe, Source
from shared.contracts.headers import PIPE
from shared.contracts.topics import Topic

Say = Callable[[str], None]

KEY: Final = "trial-write-key"
NAME: Final = "trial"
"""Name of the source and of the tenant."""

_USUAL: Final = Batch()
_READ_SECONDS: Final = 300.0


class Delivery(NamedTuple):
    """One event that arrived."""

    pipe: str
    attempt: int
    received_ms: int
    departed_ms: int

    @property
    def lag_ms(self) -> int:
        """Time from the event's last byte in to the destination's response."""
        return self.departed_ms - self.received_ms


@contextmanager
def configured(side: Side, urls: dict[str, str], batch: Batch = _USUAL) -> Iterator[None]:
    """A source with a pipe and a destination of each name, published; they are deleted at the end.

    Raises:
        DocumentsError, KafkaUnavailableError: if they cannot be written, or are not published.
    """
    documents: list[Document] = [Source(name=NAME, tenant=NAME, write_keys=[KEY])]
    for name, url in urls.items():
        documents.append(Destination(name=name, tenant=NAME, options={"url": url}, batch=batch))
        documents.append(Pipe(name=name, tenant=NAME, source=NAME, destination=name))
    documents_of(side).put(documents)
    try:
        time.sleep(LIVE_SECONDS)
        yield
    finally:
        documents_of(side).remove(documents)


def handed_on(bootstrap: str, since_ms: int) -> Counter[str]:
    """Count the events of each pipe that went to the slow lane since a time; they may arrive twice.

    Raises:
        KafkaUnavailableError: if the brokers do not answer, or the topic is not read in time.
    """
    messages = records_since(bootstrap, Topic.OUTBOUND_SLOW, since_ms, _READ_SECONDS)
    pipes = (dict(message.headers() or ()).get(PIPE) for message in messages)
    return Counter(pipe.decode() for pipe in pipes if isinstance(pipe, bytes))


def deliveries(bootstrap: str, since_ms: int) -> Iterator[Delivery]:
    """Every delivery since a time, by the receipts.

    Raises:
        KafkaUnavailableError: if the brokers do not answer, or the receipts are not read in time.
    """
    for receipt in receipts_since(bootstrap, since_ms, _READ_SECONDS):
        if receipt.result == "delivered":
            for received_ms in receipt.received_ms:
                yield Delivery(receipt.pipe, receipt.attempt, received_ms, receipt.departed_ms)
