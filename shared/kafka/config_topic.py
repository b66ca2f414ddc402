"""The `config` topic: its documents as a table in memory, read once, or published."""

from collections.abc import Callable, Mapping

from confluent_kafka import KafkaError, Message

from shared.contracts.completeness import COMPLETE_KEY, COMPLETE_VALUE
from shared.contracts.documents import Catalogue, Entry, decode_entry
from shared.contracts.publish_plan import Records
from shared.contracts.topics import Topic
from shared.kafka.global_table import ExactTable, GlobalTable
from shared.kafka.producer import logging_client, producer_config
from shared.runtime.errors import OperatorError

Seen = Callable[[Catalogue], None]
Used = Callable[[int], None]


def config_table(
    bootstrap: str, client_id: str, seen: Seen = lambda _: None, used: Used = lambda _: None
) -> GlobalTable[Catalogue]:
    """A started table of the `config` topic for a node: loaded when the topic says that it is complete.

    Args:
        bootstrap: the brokers.
        client_id: who reads.
        seen: called with each new catalogue before it is used.
        used: called again and again with the offset up to which the table is used.
    """

    def view(values: Mapping[bytes, Entry | None]) -> Catalogue:
        catalogue = _catalogue(values)
        seen(catalogue)
        return catalogue

    return GlobalTable(
        bootstrap=bootstrap,
        client_id=client_id,
        topic=Topic.CONFIG,
        decode=_decoded,
        view=view,
        used=used,
        complete_key=COMPLETE_KEY,
    ).start()


def exact_config_table(bootstrap: str, client_id: str) -> ExactTable[Catalogue]:
    """A started table of what the `config` topic holds now, complete or not, for one who writes to it."""
    return ExactTable(
        bootstrap=bootstrap, client_id=client_id, topic=Topic.CONFIG, decode=_decoded, view=_catalogue
    ).start()


def _decoded(value: bytes) -> Entry | None:
    return None if value == COMPLETE_VALUE else decode_entry(value)


def _catalogue(values: Mapping[bytes, Entry | None]) -> Catalogue:
    entries = {key: entry for key, entry in values.items() if entry is not None}
    return Catalogue(entries, complete=COMPLETE_KEY in values)


class PublishError(OperatorError):
    """The brokers did not acknowledge a document."""


def read_catalogue(bootstrap: str, client_id: str, seconds: float) -> Catalogue:
    """All documents published now, complete or not.

    Raises:
        TimeoutError: if the topic could not be read within `seconds`.
    """
    table = exact_config_table(bootstrap, client_id)
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
