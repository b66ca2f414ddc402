"""Only public unicast addresses may be dialled, however an address is written."""

from collections.abc import Callable
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.contracts.egress_policy import EgressPolicy, Kind, is_loopback, literal, special, why_refused
from shared.runtime.settings import SideSettings

V4 = st.ip_addresses(v=4)
V6 = st.ip_addresses(v=6)
PUBLIC_V6 = st.ip_addresses(network="2400::/6")

NEIGHBOURS = """
    1.1.1.1 8.8.8.8 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 126.255.255.255 128.0.0.0
    168.63.129.15 169.253.255.255 169.255.0.0 172.15.255.255 172.32.0.0 191.255.255.255 192.0.1.0
    192.167.255.255 192.169.0.0 198.17.255.255 198.20.0.0 223.255.255.255 2001:200::1 2001:db7:ffff::1
    2001:db9::1 2003::1 2606:4700::1111 2a00:1450::1 2600:1f18::1 3ffe::1
"""
EMBEDDINGS: dict[str, Callable[[int], int]] = {
    "mapped": lambda v4: int(IPv6Address("::ffff:0:0")) | v4,
    "translated": lambda v4: int(IPv6Address("::ffff:0:0:0")) | v4,
    "compatible": lambda v4: v4,
    "nat64": lambda v4: int(IPv6Address("64:ff9b::")) | v4,
    "nat64 of one's own": lambda v4: int(IPv6Address("64:ff9b:1::")) | v4,
    "6to4": lambda v4: int(IPv6Address("2002::")) | v4 << 80 | 1,
    "teredo server": lambda v4: int(IPv6Address("2001::")) | v4 << 64 | 0xFFFF,
    "teredo client": lambda v4: int(IPv6Address("2001::")) | v4 ^ 0xFFFFFFFF,
}


@pytest.mark.parametrize(
    ("kind", "addresses"),
    [
        (Kind.LOOPBACK, "127.0.0.1 127.255.255.255 ::1"),
        (Kind.METADATA, "169.254.169.254 169.254.170.2 169.254.170.23 fd00:ec2::254 168.63.129.16"),
        (Kind.LINK_LOCAL, "169.254.0.0 169.254.255.255 fe80::1 febf::1"),
        (Kind.PRIVATE, "10.0.0.0 10.255.255.255 172.16.0.0 172.31.255.255 192.168.0.0 192.168.255.255"),
        (Kind.PRIVATE, "fc00:: fdff::1 fec0::1 feff::1"),
        (Kind.SHARED, "100.64.0.0 100.100.100.200 100.127.255.255"),
        (Kind.UNSPECIFIED, "0.0.0.0 0.255.255.255 ::"),
        (Kind.MULTICAST, "224.0.0.1 239.255.255.255 ff02::1"),
        (Kind.BROADCAST, "255.255.255.255"),
        (Kind.DOCUMENTATION, "192.0.2.1 198.51.100.1 203.0.113.1 2001:db8::1 3fff::1 3fff:fff::1"),
        (Kind.BENCHMARK, "198.18.0.0 198.19.255.255 2001:2::1"),
        (Kind.PROTOCOL, "192.0.0.1 192.0.0.192 192.88.99.1 2001:1::1 2001:20::1"),
        (
            Kind.EMBEDDED,
            "::ffff:127.0.0.1 ::ffff:8.8.8.8 ::7f00:1 64:ff9b::808:808 64:ff9b:1::1 2002:7f00:1:: 2001:0:1::",
        ),
        (Kind.RESERVED, "240.0.0.0 255.255.255.254 100::1 5f00::1 4000::1 1fff::1 fe00::1 2606:4700::1%eth0"),
    ],
)
def test_addresses_that_are_not_public_are_refused_by_their_kind(kind: Kind, addresses: str) -> None:
    assert {text: special(ip_address(text)) for text in addresses.split()} == dict.fromkeys(
        addresses.split(), kind
    )


@pytest.mark.parametrize("text", NEIGHBOURS.split())
def test_neighbours_of_the_refused_ranges_are_public(text: str) -> None:
    assert special(ip_address(text)) is None


@given(V4 | V6)
def test_whatever_the_library_calls_anything_but_global_is_refused(
    address: IPv4Address | IPv6Address,
) -> None:
    other = (
        not address.is_global
        or address.is_multicast
        or address.is_reserved
        or (isinstance(address, IPv6Address) and address.is_site_local)
    )
    if other:
        assert special(address) is not None


_MORE_THAN_LIBRARY = [
    ip_network("192.0.0.0/24"),
    ip_network("192.88.99.0/24"),
    ip_network("168.63.129.16/32"),
]


@given(V4)
def test_only_the_listed_ipv4_ranges_are_refused(address: IPv4Address) -> None:
    if special(address) is not None and not any(address in network for network in _MORE_THAN_LIBRARY):
        assert not address.is_global or address.is_multicast


@given(PUBLIC_V6)
def test_of_ipv6_what_registries_give_to_networks_is_public(address: IPv6Address) -> None:
    assert special(address) is None


@pytest.mark.parametrize("form", EMBEDDINGS)
@given(address=V4)
def test_an_ipv4_address_inside_an_ipv6_one_is_refused_whatever_it_is(
    form: str, address: IPv4Address
) -> None:
    embedded = IPv6Address(EMBEDDINGS[form](int(address)))
    assert special(embedded) is not None
    assert EgressPolicy(loopback=True).refuses(embedded) is not None or str(embedded) == "::1"


@given(V4 | V6 | st.ip_addresses(network="127.0.0.0/8"))
def test_a_local_side_may_dial_loopback_and_nothing_else_more(address: IPv4Address | IPv6Address) -> None:
    own = address in IPv4Network("127.0.0.0/8") or address in IPv6Network("::1/128")
    assert EgressPolicy().refuses(address) == special(address)
    assert EgressPolicy(loopback=True).refuses(address) == (None if own else special(address))


def _part(value: int, base: str) -> str:
    return {"decimal": f"{value}", "octal": f"0{value:o}", "hex": f"0x{value:x}", "HEX": f"0X{value:X}"}[base]


@given(V4, st.integers(1, 4), st.lists(st.sampled_from(["decimal", "octal", "hex", "HEX"]), min_size=4))
def test_every_spelling_of_an_ipv4_address_is_understood(
    address: IPv4Address, parts: int, bases: list[str]
) -> None:
    """One to four parts; the last one holds all remaining bytes: inet_aton(3)."""
    octets = address.packed
    values = [*octets[: parts - 1], int.from_bytes(octets[parts - 1 :])]
    spelled = ".".join(_part(value, base) for value, base in zip(values, bases, strict=False))
    assert literal(spelled) == address
    assert literal(f"{spelled}.") == address


@given(V6)
def test_every_spelling_of_an_ipv6_address_is_understood(address: IPv6Address) -> None:
    assert literal(address.exploded) == literal(str(address)) == address


@pytest.mark.parametrize("host", ["LOCALHOST", "localhost.", "a.b.localhost"])
def test_localhost_is_loopback(host: str) -> None:
    assert literal(host) == IPv4Address("127.0.0.1")


@pytest.mark.parametrize(
    "host", ["", "example.com", "localhost.example.com", "1.2.3.4.5", "256.1.1.1", "\uff11\uff12\uff17.0.0.1"]
)
def test_names_are_no_literals(host: str) -> None:
    assert literal(host) is None


def test_a_refusal_names_the_fix() -> None:
    assert why_refused(Kind.PRIVATE).startswith("leads to a private address; give a public address")
    assert why_refused(Kind.EMBEDDED).startswith("leads to an IPv4-in-IPv6 address;")
    assert "HIFI_ALLOW_LOOPBACK" in why_refused(Kind.LOOPBACK)


def test_loopback_is_closed_unless_a_local_side_opens_it(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HIFI_ALLOW_LOOPBACK", "HIFI_SIDE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HIFI_BOOTSTRAP", "b:1")
    assert SideSettings().egress == EgressPolicy(loopback=False)  # type: ignore[call-arg]  # from the environment
    monkeypatch.setenv("HIFI_ALLOW_LOOPBACK", "true")
    assert SideSettings().egress == EgressPolicy(loopback=True)  # type: ignore[call-arg]
    monkeypatch.setenv("HIFI_SIDE", "green")
    with pytest.raises(ValueError, match="allow_loopback is for a local side, and this is 'green'"):
        SideSettings()  # type: ignore[call-arg]


@given(st.one_of(V4, V6))
def test_a_twin_may_dial_its_canarys_address_and_nothing_else_more(
    address: IPv4Address | IPv6Address,
) -> None:
    canary = IPv4Address("172.20.0.100")
    policy = EgressPolicy(address=canary)
    assert policy.refuses(canary) is None
    assert policy.refuses(address) == (None if address == canary else special(address))
    assert policy.refuses(IPv6Address(f"::ffff:{canary}")) is not None


def test_only_the_canary_may_have_the_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HIFI_BOOTSTRAP", "b:9092")
    monkeypatch.setenv("HIFI_ALLOW_ADDRESS", "172.20.0.100")
    settings = SideSettings()  # type: ignore[call-arg]  # from the environment
    assert settings.egress == EgressPolicy()
    assert settings.canary_egress == EgressPolicy(address=IPv4Address("172.20.0.100"))


@pytest.mark.parametrize("address", ["169.254.169.254", "127.0.0.1", "8.8.8.8", "100.64.0.1", "0.0.0.0"])
def test_no_address_but_a_private_one_can_be_the_canarys(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HIFI_BOOTSTRAP", "b:9092")
    monkeypatch.setenv("HIFI_ALLOW_ADDRESS", address)
    with pytest.raises(ValueError, match=f"allow_address: give one private address, not {address}"):
        SideSettings()  # type: ignore[call-arg]  # from the environment


@pytest.mark.parametrize(
    ("host", "here"),
    [
        ("localhost", True),
        ("127.8.9.1", True),
        ("::1", True),
        ("0.0.0.0", False),
        ("10.0.0.1", False),
        ("localhost.example.com", False),
        ("", False),
    ],
)
def test_only_what_cannot_leave_the_machine_is_loopback(host: str, here: bool) -> None:
    assert is_loopback(host) is here
