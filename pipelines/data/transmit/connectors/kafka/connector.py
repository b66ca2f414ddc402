"""Customers' Kafka clusters: one record per event, in CloudEvents' binary mode, with acks=all."""

import asyncio
import re
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Annotated, Final, Literal

from msgspec import Meta, Struct

from pipelines.data.transmit.connectors.base import Answer, ConnectorContext, ConnectorType, PathText
from pipelines.data.transmit.connectors.kafka.access import Access, Server
from pipelines.data.transmit.connectors.kafka.cluster import Headers, KafkaCluster, Record
from pipelines.data.transmit.events import Event, attributes_of, partition_key
from shared.contracts.documents import Destination, SecretRef
from shared.contracts.egress_policy import Kind as Address
from shared.contracts.egress_policy import literal, special
from shared.contracts.headers import attribute_header

THREADS: Final = 8
"""Threads that query clusters for their brokers."""

IDLE_SECONDS: Final = 300.0
"""Seconds after which an unused producer is closed, as after a change of a document or password."""

_SERVER: Final = re.compile(r"(?:\[(?P<v6>[0-9A-Fa-f:.]+)\]|(?P<name>[A-Za-z0-9._-]+)):(?P<port>[0-9]{1,5})")


class Sasl(Struct, kw_only=True, frozen=True):
    """SASL credentials."""

    mechanism: Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"]
    username: Annotated[str, Meta(min_length=1, max_length=256)]
    password: SecretRef


class Options(Struct, kw_only=True, frozen=True):
    """How to reach a topic."""

    bootstrap_servers: Annotated[
        list[Annotated[str, Meta(max_length=300)]],
        Meta(min_length=1, max_length=20, description="a list, for example [kafka.example.com:9093]"),
    ]
    topic: Annotated[
        str, Meta(pattern="^[a-zA-Z0-9._-]{1,249}$", description="name of a topic that there is")
    ]
    tls: Annotated[bool, Meta(description="true, or false for brokers on the same machine")] = True
    ca: Annotated[str, Meta(description="PEM certificates, where no public authority signed")] | None = None
    sasl: (
        Annotated[
            Sasl, Meta(description="{mechanism: SCRAM-SHA-512, username: hifi, password: secret://...}")
        ]
        | None
    ) = None


class Kafka:
    """All customers' clusters; destinations with the same access share a producer."""

    def __init__(self, context: ConnectorContext) -> None:
        self._context = context
        self._clusters: dict[Access, KafkaCluster] = {}
        self._executor = ThreadPoolExecutor(THREADS, "kafka-destinations")
        self._closing: set[asyncio.Task[None]] = set()

    async def send(
        self, destination: Destination, options: Options, events: Sequence[Event], seconds: float
    ) -> Sequence[Answer]:
        """Write a record for each event; gives an answer for each."""
        cluster = self._cluster(self._access(options, destination.timeout_seconds))
        return await cluster.send(options.topic, [record(event) for event in events], seconds)

    async def close(self) -> None:
        """Close all producers and threads."""
        await asyncio.gather(*(cluster.close() for cluster in self._clusters.values()), *self._closing)
        self._clusters.clear()
        self._executor.shutdown(wait=False, cancel_futures=True)

    def _access(self, options: Options, timeout_seconds: float) -> Access:
        """Raises UnknownSecretError if the password is missing."""
        sasl = options.sasl
        return Access(
            servers=servers(options),
            timeout_seconds=timeout_seconds,
            tls=options.tls,
            ca=options.ca,
            mechanism=sasl.mechanism if sasl else None,
            username=sasl.username if sasl else None,
            password=self._context.secrets.get(sasl.password) if sasl else None,
        )

    def _cluster(self, access: Access) -> KafkaCluster:
        now = asyncio.get_running_loop().time()
        for other in [a for a, c in self._clusters.items() if a != access and now - c.used > IDLE_SECONDS]:
            task = asyncio.get_running_loop().create_task(self._clusters.pop(other).close())
            self._closing.add(task)
            task.add_done_callback(self._closing.discard)
        if access not in self._clusters:
            self._clusters[access] = KafkaCluster(access, self._context.egress, self._executor)
        return self._clusters[access]


def record(event: Event) -> Record:
    """CloudEvents' Kafka binding in binary mode; an event without data has an empty value, as null deletes.

    The attributes are those after masking, not the headers of the outbound record.
    """
    attributes = attributes_of(event)
    headers: Headers = [(attribute_header(name), text.encode()) for name, text in attributes.items()]
    return Record(partition_key(event, attributes).encode(), event.value or b"", headers)


def servers(options: Options) -> tuple[Server, ...]:
    """Hosts and ports of the bootstrap servers; invalid ones are left out."""
    found = [_SERVER.fullmatch(text) for text in options.bootstrap_servers]
    return tuple((match["v6"] or match["name"], int(match["port"])) for match in found if match)


async def _open(context: ConnectorContext) -> Kafka:
    return Kafka(context)


def _faults(options: Options) -> Iterator[PathText]:
    for at, text in enumerate(options.bootstrap_servers):
        match = _SERVER.fullmatch(text)
        if not match or not 0 < int(match["port"]) < 65_536:
            yield f"$.bootstrap_servers[{at}]", "is not host:port; write it like kafka.example.com:9093"
    if not options.tls and not all(_is_loopback(host) for host, _ in servers(options)):
        yield "$.tls", "may be false for brokers on the same machine only; leave it out"
    if options.ca is not None and "-----BEGIN CERTIFICATE-----" not in options.ca:
        yield "$.ca", "is not a PEM certificate; paste one with its BEGIN and END lines"


def _is_loopback(host: str) -> bool:
    address = literal(host)
    return address is not None and special(address) == Address.LOOPBACK


def _hosts(options: Options) -> Iterator[PathText]:
    for at, (host, _) in enumerate(servers(options)):
        yield f"$.bootstrap_servers[{at}]", host


def _summary(options: Options) -> str:
    return f"{options.bootstrap_servers[0]}/{options.topic}"


CONNECTOR: Final = ConnectorType(options=Options, open=_open, faults=_faults, hosts=_hosts, summary=_summary)
