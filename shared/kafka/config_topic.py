"""The `config` topic: its documents as a table in memory, read once, or published."""

from collections.abc import Callable, Mapping

from confluent_kafka import KafkaError, Message

from shared.contracts.documents import Catalogue, Entry, decode_entry
from shared.contracts.publish_plan import Records
from shared.contracts.topics import Topic
from shared.kafka.global_table import ExactTable, GlobalTable
from shared.kafka.producer import logging_client, producer_config
from shared.runtime.errors import OperatorError


def config_table(
    bootstrap: str,
    client_id: str,
    seen: Callable[[Catalogue], None] = lambda _: None,
    used: Callable[[int], None] = lambda _: None,
) -> GlobalTable[Catalogue]:
    """A started table of the `config` topic.

    Args:
        bootstrap: the brokers.
        client_id: who reads.
        seen: called with each new catalogue before it is used.
        used: called again and again with the offset up to which the table is used.
    """

    def view(entries: Mapping[bytes, Entry]) -> Catalogue:
        catalogue = Catalogue(entries)
        seen(catalogue)
        return catalogue

    return GlobalTable(
        bootstrap=bootstrap,
        client_id=client_id,
        topic=Topic.CONFIG,
        decode=decode_entry,
        view=view,
        used=used,
    ).start()


def exact_config_table(bootstrap: str, client_id: str) -> ExactTable[Catalogue]:
    """A started table of what the `config` topic holds now, for its provisioner."""
    return ExactTable(
        bootstrap=bootstrap, client_id=client_id, topic=Topic.CONFIG, decode=decode_entry, view=Catalogue
    ).start()


class PublishError(OperatorError):
    """The brokers did not acknowledge a document."""


def read_catalogue(bootstrap: str, client_id: str, seconds: float) -> Catalogue:
    """All documents published now.

    Raises:
        TimeoutError: if the topic could not be read within `seconds`.
    """
    table = config_table(bootstrap, client_id)
    try:
        if not table.wait(seconds):
            raise TimeoutError(f"the topic {Topic.CONFIG} could not be read within {seconds:.0f} s")
        return table.view
    finally:
        table.stop()


def publish(bootstrap: str, client_id: str, records: Records, seconds: float) -> None:
    """Write records and wait, `seconds` at most, until the brokers acknowledge them.

    Raises:
        PublishError: if one was not acknowledged; it and others may have been written all the same.
    """
    failures: list[KafkaError] = []

    def note(error: KafkaError | None, _: Message) -> None:
        if error is not None:
            failures.append(error)

    # Failures are raised, so librdkafka's own log lines (such as a coordinator still loading) are left out.
    producer = logging_client(producer_config(bootstrap, client_id) | {"log_level": 3})
    for key, value in records.items():
        producer.produce(Topic.CONFIG, key=key, value=value, on_delivery=note)
    left = producer.flush(seconds)
    if failures:
        raise PublishError(f"not acknowledged by the brokers: {failures[0].str()}; apply it again")
    if left:
        producer.purge()
        raise PublishError(f"not acknowledged by the brokers within {seconds:.0f} s; apply it again")
