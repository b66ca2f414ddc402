"""Customers' Kafka clusters: one record per event, in CloudEvents' binary mode, with acks=all."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from pipelines.data.transmit.connectors.base import Answer, ConnectorContext, ConnectorType
from pipelines.data.transmit.connectors.kafka.access import Access
from pipelines.data.transmit.connectors.kafka.client import Headers, Record
from pipelines.data.transmit.connectors.kafka.cluster import KafkaCluster
from pipelines.data.transmit.connectors.kafka.errors import TOO_LARGE
from pipelines.data.transmit.connectors.kafka.threads import TenantThreads
from pipelines.data.transmit.events import Event, attributes_of, partition_key
from shared.connectors.kafka import SPEC, Options, servers
from shared.contracts.documents import Destination
from shared.contracts.headers import attribute_header
from shared.contracts.secrets import secret_text

IDLE_SECONDS: Final = 300.0
"""Seconds after which an unused producer is closed, as after a change of a document or password."""

MOST_CLUSTERS: Final = 20
"""Producers of a tenant, and as many again that write records alone: each has a thread and two files for each
broker that its cluster names, in the process that sends for all tenants."""

MOST_TOPICS: Final = 1_000
"""Topics after which a cluster's producer is replaced: topics of deleted destinations are among them."""


_MANY: Final = Answer(
    error=f"too_many_clusters: the tenant uses {MOST_CLUSTERS} Kafka clusters or users already; one that is "
    f"unused for {IDLE_SECONDS:.0f} s makes room",
    later=True,
)


class Kafka:
    """All customers' clusters; a tenant's destinations with the same access share a producer."""

    def __init__(self, context: ConnectorContext, most_topics: int = MOST_TOPICS) -> None:
        self._context, self._most_topics = context, most_topics
        self._clusters: dict[Access, KafkaCluster] = {}
        self._replaced: list[KafkaCluster] = []
        """Not used any more, but records may be on their way."""

        self._threads = TenantThreads()
        self._closing: set[asyncio.Task[None]] = set()
        self._timer: asyncio.TimerHandle | None = None

    @property
    def topics(self) -> int:
        """How many topics the producers in use keep."""
        return sum(cluster.topics for cluster in self._clusters.values())

    async def send(
        self, destination: Destination, options: Options, events: Sequence[Event], seconds: float
    ) -> Sequence[Answer]:
        """Write a record for each event; gives an answer for each."""
        access, until = self._access(options, destination), asyncio.get_running_loop().time() + seconds
        records = [record(event) for event in events]
        answers = [*await self._write(access, options.topic, records, until)]
        if large := [at for at, answer in enumerate(answers) if answer.status == TOO_LARGE]:
            # Brokers do not say which record of a batch is too large, nor whether one is.
            alone = [records[at] for at in large]
            again = await self._write(replace(access, batch_records=1), options.topic, alone, until)
            for at, answer in zip(large, again, strict=True):
                answers[at] = answer
        return answers

    async def _write(
        self, access: Access, topic: str, records: Sequence[Record], until: float
    ) -> Sequence[Answer]:
        """Write records with the producer of an access, until a time on the loop's clock."""
        if access not in self._clusters and self._held_like(access) >= MOST_CLUSTERS:
            return [_MANY] * len(records)
        self._close_idle_later()
        cluster = self._cluster(access)
        if (single := self._clusters.get(replace(access, batch_records=1))) is not None:
            single.look_again(topic)  # its cluster may name more brokers also while it is not used
        return await cluster.send(topic, records, until - asyncio.get_running_loop().time())

    async def close(self) -> None:
        """Close all producers and threads."""
        if self._timer is not None:
            self._timer.cancel()
        held = [*self._clusters.values(), *self._replaced]
        await asyncio.gather(*(cluster.close() for cluster in held), *self._closing)
        self._clusters.clear()
        self._replaced.clear()
        self._threads.shutdown()

    def _access(self, options: Options, destination: Destination) -> Access:
        """Raises UnknownSecretError if the password is missing."""
        sasl = options.sasl
        return Access(
            tenant=destination.tenant,
            servers=servers(options),
            timeout_seconds=destination.timeout_seconds,
            tls=options.tls,
            ca=options.ca,
            mechanism=sasl.mechanism if sasl else None,
            username=sasl.username if sasl else None,
            password=secret_text(self._context.secrets, sasl.password) if sasl else None,
        )

    def _held_like(self, access: Access) -> int:
        """How many producers of that kind its tenant has, replaced ones included."""
        held = (each.access for each in (*self._clusters.values(), *self._replaced))
        return sum((e.tenant, e.batch_records) == (access.tenant, access.batch_records) for e in held)

    def _cluster(self, access: Access) -> KafkaCluster:
        if access in self._clusters and self._clusters[access].topics >= self._most_topics:
            self._replaced.append(self._clusters.pop(access))
        if access not in self._clusters:
            self._clusters[access] = KafkaCluster(
                access, self._context.egress, self._context.resolver, self._threads
            )
        return self._clusters[access]

    def _close_idle_later(self) -> None:
        """Close what is not used for a while, also if nothing is sent until then."""
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(IDLE_SECONDS / 10, self._close_idle)

    def _close_idle(self) -> None:
        loop, self._timer = asyncio.get_running_loop(), None
        oldest = loop.time() - IDLE_SECONDS
        idle = [self._clusters.pop(a) for a, c in [*self._clusters.items()] if c.is_idle_since(oldest)]
        idle += [each for each in self._replaced if each.is_idle_since(oldest)]
        self._replaced = [each for each in self._replaced if each not in idle]
        for each in idle:
            task = loop.create_task(each.close())
            self._closing.add(task)
            task.add_done_callback(self._closing.discard)
        if self._clusters or self._replaced:
            self._close_idle_later()


def record(event: Event) -> Record:
    """CloudEvents' Kafka binding in binary mode; an event without data has an empty value, as null deletes.

    The attributes are those after masking, not the headers of the outbound record.
    """
    attributes = attributes_of(event)
    headers: Headers = [(attribute_header(name), text.encode()) for name, text in attributes.items()]
    return Record(partition_key(event, attributes).encode(), event.value or b"", headers)


async def _open(context: ConnectorContext) -> Kafka:
    return Kafka(context)


CONNECTOR: Final = ConnectorType(spec=SPEC, open=_open)
