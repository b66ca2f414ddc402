"""The `config` topic as a command uses it: read it to its end once, publish, wait for the delivery."""

import logging
import time
from collections.abc import Callable, Iterable, Mapping, Sequence

from confluent_kafka import KafkaError, Message, Producer

from scripts.config.plan import Change, Step
from shared.contracts.config import (
    LIVE_SECONDS,
    Catalogue,
    Document,
    Entry,
    Source,
    encode_entry,
    kind_of,
    sealed,
    topic_key,
)
from shared.contracts.topics import Topic
from shared.kafka.config_table import config_table
from shared.kafka.producer import producer_config

_CLIENT = "hifi-cli"
_READ_SECONDS = 15.0


class PublishError(Exception):
    """The brokers did not acknowledge a document."""


def read_catalogue(bootstrap: str) -> Catalogue:
    """All documents that are published now.

    Raises:
        TimeoutError: if the topic could not be read.
    """
    logging.getLogger("shared.kafka").addHandler(logging.NullHandler())
    table = config_table(bootstrap, _CLIENT)
    try:
        if not table.wait(_READ_SECONDS):
            raise TimeoutError(f"the topic {Topic.CONFIG} could not be read within {_READ_SECONDS:.0f} s")
        return table.view
    finally:
        table.stop()


def publish_steps(bootstrap: str, steps: Sequence[Step], say: Callable[[str], None]) -> None:
    """Publish what a plan changes; a new source after the pipes it may feed are in force.

    The other way round its first events would be acknowledged, and match no pipe.

    Raises:
        PublishError: if the brokers did not take all of it.
    """
    changed = [step for step in steps if step.change is not Change.UNCHANGED]
    sources = [s for s in changed if isinstance(s.entry.document, Source) and s.change is Change.CREATED]
    first = [step for step in changed if step not in sources]
    _publish(bootstrap, first)
    if first and sources:
        say(f"pipes take effect in {LIVE_SECONDS} s; new sources are opened after that")
        time.sleep(LIVE_SECONDS)
    _publish(bootstrap, sources)


def _publish(bootstrap: str, steps: Sequence[Step]) -> None:
    if steps:
        publish(bootstrap, {step.key: encode_entry(step.entry) for step in steps})


def records_of(documents: Iterable[Document]) -> dict[bytes, bytes | None]:
    """Records that publish documents for the first time, without looking at what is there."""
    return {_key(each): encode_entry(Entry(version=1, document=sealed(each))) for each in documents}


def tombstones_of(documents: Iterable[Document]) -> dict[bytes, bytes | None]:
    """Records that take documents away again."""
    return {_key(each): None for each in documents}


def _key(document: Document) -> bytes:
    return topic_key(kind_of(document), document.name)


def publish(bootstrap: str, records: Mapping[bytes, bytes | None]) -> None:
    """Write records, None as a tombstone, and wait until the brokers have them.

    Raises:
        PublishError: if one of them was not acknowledged; others may have been.
    """
    failures: list[KafkaError] = []

    def note(error: KafkaError | None, _: Message) -> None:
        if error is not None:
            failures.append(error)

    # What fails is raised; that a coordinator is still loading, and is asked again, nobody need read.
    producer = Producer(producer_config(bootstrap, _CLIENT) | {"log_level": 3})
    for key, value in records.items():
        producer.produce(Topic.CONFIG, key=key, value=value, on_delivery=note)
    producer.flush()
    if failures:
        raise PublishError(f"not acknowledged by the brokers: {failures[0].str()}; apply it again")
