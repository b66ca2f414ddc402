"""Options of customers' Kafka clusters."""

import re
from collections.abc import Iterator
from typing import Annotated, Final, Literal

from msgspec import Meta, Struct

from shared.connectors.spec import ConnectorSpec, OptionFault, OptionHost
from shared.contracts.documents import SecretRef
from shared.contracts.egress_policy import is_loopback

Server = tuple[str, int]
"""Host and port."""

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
        str, Meta(pattern=r"^[a-zA-Z0-9._-]{1,249}$(?!\n)", description="name of a topic that there is")
    ]
    tls: Annotated[bool, Meta(description="true, or false for brokers on the same machine")] = True
    ca: Annotated[str, Meta(description="PEM certificates, where no public authority signed")] | None = None
    sasl: (
        Annotated[
            Sasl, Meta(description="{mechanism: SCRAM-SHA-512, username: hifi, password: secret://...}")
        ]
        | None
    ) = None


def servers(options: Options) -> tuple[Server, ...]:
    """Hosts and ports of the bootstrap servers; invalid ones are left out."""
    found = [_SERVER.fullmatch(text) for text in options.bootstrap_servers]
    return tuple((match["v6"] or match["name"], int(match["port"])) for match in found if match)


def _faults(options: Options) -> Iterator[OptionFault]:
    for at, text in enumerate(options.bootstrap_servers):
        match = _SERVER.fullmatch(text)
        if not match or not 0 < int(match["port"]) < 65_536:
            yield f"$.bootstrap_servers[{at}]", "is not host:port", "write it like kafka.example.com:9093"
    if not options.tls and not all(is_loopback(host) for host, _ in servers(options)):
        yield "$.tls", "may be false for brokers on the same machine only", "leave it out"
    if options.ca is not None and "-----BEGIN CERTIFICATE-----" not in options.ca:
        yield "$.ca", "is not a PEM certificate", "paste one with its BEGIN and END lines"


def _hosts(options: Options) -> Iterator[OptionHost]:
    for at, (host, _) in enumerate(servers(options)):
        yield f"$.bootstrap_servers[{at}]", host


def _summary(options: Options) -> str:
    return f"{options.bootstrap_servers[0]}/{options.topic}"


SPEC: Final = ConnectorSpec(
    description="a Kafka cluster of your own: one record per event, acks=all, TLS and SASL",
    options=Options,
    faults=_faults,
    hosts=_hosts,
    summary=_summary,
)
