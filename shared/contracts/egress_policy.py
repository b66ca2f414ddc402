"""The egress policy: which addresses a destination may have.

hifi connects to addresses that customers choose, from inside a trusted network. Private addresses would give
customers access to that network, so only public unicast addresses are dialled. The ranges are those of the
IANA special-purpose address registries (RFC 6890) and of IANA's IPv6 address space. They are written out
because `ipaddress.is_private` differs between versions of Python.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from itertools import chain
from socket import inet_aton
from typing import Final

Address = IPv4Address | IPv6Address


class Kind(StrEnum):
    """Why an address is not public; reads well before the word `address`."""

    LOOPBACK = "loopback"
    METADATA = "cloud metadata"
    LINK_LOCAL = "link-local"
    PRIVATE = "private"
    SHARED = "carrier-grade NAT"
    UNSPECIFIED = "unspecified"
    MULTICAST = "multicast"
    BROADCAST = "broadcast"
    DOCUMENTATION = "documentation"
    BENCHMARK = "benchmark"
    PROTOCOL = "protocol-assigned"
    EMBEDDED = "IPv4-in-IPv6"
    RESERVED = "reserved"


_RANGES: Final[Mapping[Kind, tuple[str, ...]]] = {
    Kind.LOOPBACK: ("127.0.0.0/8", "::1/128"),
    # Of EC2's instances, ECS's tasks, EKS's pods; all of these over IPv6; of Azure's machines.
    Kind.METADATA: (
        "169.254.169.254/32",
        "169.254.170.2/32",
        "169.254.170.23/32",
        "fd00:ec2::/32",
        "168.63.129.16/32",
    ),
    Kind.LINK_LOCAL: ("169.254.0.0/16", "fe80::/10"),
    # Unique local and the older site-local addresses are IPv6's private ones.
    Kind.PRIVATE: ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7", "fec0::/10"),
    Kind.SHARED: ("100.64.0.0/10",),
    Kind.UNSPECIFIED: ("0.0.0.0/8", "::/128"),
    Kind.MULTICAST: ("224.0.0.0/4", "ff00::/8"),
    Kind.BROADCAST: ("255.255.255.255/32",),
    Kind.DOCUMENTATION: ("192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24", "2001:db8::/32", "3fff::/20"),
    Kind.BENCHMARK: ("198.18.0.0/15", "2001:2::/48"),
    # Mapped, translated and compatible; NAT64, well-known and local; 6to4; Teredo. This machine, or a gateway
    # on the way, turns each into a packet to the IPv4 address in it. None is a server's own address.
    Kind.EMBEDDED: (
        "::ffff:0:0/96",
        "::ffff:0:0:0/96",
        "::/96",
        "64:ff9b::/96",
        "64:ff9b:1::/48",
        "2002::/16",
        "2001::/32",
    ),
    # After Teredo and the benchmark's range, which lie in the last of these; 192.88.99.0/24 is 6to4's relays.
    Kind.PROTOCOL: ("192.0.0.0/24", "192.88.99.0/24", "2001::/23"),
    Kind.RESERVED: ("240.0.0.0/4",),
}
"""First match counts."""

_V6_UNICAST: Final = IPv6Network("2000::/3")
"""All that is allocated for global unicast; what is outside is reserved, whatever it will become."""

_NETWORKS: Final[tuple[tuple[IPv4Network | IPv6Network, Kind], ...]] = tuple(
    chain.from_iterable(((ip_network(text), kind) for text in texts) for kind, texts in _RANGES.items())
)


def special(address: Address) -> Kind | None:
    """Why an address is not a public unicast address; None if it is one."""
    for network, kind in _NETWORKS:
        if address in network:
            return kind
    if isinstance(address, IPv6Address) and (address not in _V6_UNICAST or address.scope_id is not None):
        return Kind.RESERVED
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class EgressPolicy:
    """The addresses that a side may dial: public ones, and the exceptions here."""

    loopback: bool = False
    """The machine's own addresses, of a local side."""

    address: IPv4Address | None = None
    """One private address: where the side's canary receives."""

    def refuses(self, address: Address) -> Kind | None:
        """Why an address must not be dialled; None if it may."""
        if address == self.address:
            return None
        kind = special(address)
        return None if kind == Kind.LOOPBACK and self.loopback else kind


def literal(host: str) -> Address | None:
    """The address in a URL's host; None for a name that has to be resolved.

    In the spellings of inet_aton as well (octal, hexadecimal, one to four parts), which getaddrinfo takes;
    `localhost` and what ends with it is loopback everywhere (RFC 6761, 6.3).
    """
    text = host.rstrip(".").lower()
    if text == "localhost" or text.endswith(".localhost"):
        return IPv4Address("127.0.0.1")
    try:
        return ip_address(text)
    except ValueError:
        pass
    try:
        return IPv4Address(inet_aton(text))
    except (OSError, ValueError):
        return None


def is_loopback(host: str) -> bool:
    """Whether a URL's host is this machine, without resolving it; False for a name but `localhost`."""
    address = literal(host)
    return address is not None and special(address) == Kind.LOOPBACK


def why_refused(kind: Kind) -> str:
    """The message for a refused address, with the fix."""
    fix = "give a public address, or a name that resolves to one"
    if kind == Kind.LOOPBACK:
        fix += "; only a local side may dial its own machine (HIFI_ALLOW_LOOPBACK=true)"
    return f"leads to {'an' if kind[0] in 'Iu' else 'a'} {kind} address; {fix}"


def host_problem(host: str, reach: EgressPolicy) -> str:
    """Why a document's host would be refused when it is dialled; empty if it would not be, or is a name."""
    address = literal(host)
    if address is None:
        return ""
    kind = reach.refuses(address)
    if kind is not None:
        return why_refused(kind)
    if host[0].isdigit() and host != str(address) and ":" not in host:
        return f"spells an address in an unusual way; write {address}"
    return ""
