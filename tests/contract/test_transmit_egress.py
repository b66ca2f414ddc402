"""transmit dials no internal address, whether a URL, a name server, a redirect or a proxy names it.

The server listens on loopback: each spelling of that address would arrive if transmit dialled it.
"""

import itertools
from collections.abc import Iterator
from ipaddress import IPv4Address
from typing import Any, cast

import pytest
from aiohttp.abc import AbstractResolver, ResolveResult

from pipelines.data.transmit.delivery.kafka_rows import Row
from scripts.local.side import REACH
from shared.contracts import headers as h
from shared.contracts.documents import CANARY
from shared.contracts.egress_policy import EgressPolicy
from shared.contracts.topics import Topic
from shared.runtime.dns_cache import SECONDS
from shared.runtime.egress import RefusedAddressError, guarded_socket
from tests.contract.transmit_rig import Rig, receipts, records
from tests.harness.scripted_server import reply
from tests.unit.pipelines.data.transmit.transmit_events import flat_batch, row

LOOPBACK = """
    127.0.0.1 127.0.0.2 127.255.255.254 127.0.0.1. 127.1 127.0.1 127.000.000.001 2130706433 0x7f000001
    0x7f.1 0x7F.0x0.0x0.0x1 0177.0.0.1 0177.1 017700000001 0 0x0 0.0.0.0 localhost
    LOCALHOST [::1] [0:0:0:0:0:0:0:1] [::] [::ffff:127.0.0.1] [::ffff:7f00:1] [::127.0.0.1]
    [::ffff:0:127.0.0.1] [64:ff9b::127.0.0.1] [64:ff9b:1::7f00:1] [2002:7f00:1::1]
    [2001:0:7f00:1::80ff:fffe] user@127.0.0.1 example.com@127.0.0.1 example.com:80@127.0.0.1
"""
OTHER_DIGITS = [
    "\uff11\uff12\uff17.0.0.1",  # full-width
    "\u2460\u2461\u2466.\u24ea.\u24ea.\u2460",  # circled
    "127\u30020\u30020\u30021",  # with ideographic full stops
]
INNER = """
    169.254.169.254 2852039166 0xa9fea9fe 0251.0376.0251.0376 [::ffff:169.254.169.254] [::a9fe:a9fe]
    [64:ff9b::a9fe:a9fe] [2002:a9fe:a9fe::1] [fd00:ec2::254] 169.254.170.2 169.254.170.23 169.254.1.1
    168.63.129.16 100.100.100.200 100.64.0.1 10.0.0.1 172.16.0.1 192.168.1.1 192.0.0.192 192.0.2.1
    192.88.99.1 198.18.0.1 198.51.100.1 203.0.113.1 224.0.0.1 240.0.0.1 255.255.255.255 [fe80::1]
    [fe80::1%25lo] [fec0::1] [fc00::1] [ff02::1] [100::1] [2001:db8::1] [3fff::1] [4000::1]
"""
HOSTS = [*LOOPBACK.split(), *OTHER_DIGITS, *INNER.split()]


class Names(AbstractResolver):
    """A name server: each look-up of a name gets the next answer, and later ones repeat the last."""

    def __init__(self, answers: dict[str, list[list[str]]]) -> None:
        self._answers = answers

    async def resolve(self, host: str, port: int = 0, family: Any = 0) -> list[ResolveResult]:
        left = self._answers[host]
        return [self._result(host, each, port) for each in (left.pop(0) if len(left) > 1 else left[0])]

    def _result(self, name: str, address: str, port: int) -> ResolveResult:
        return {"hostname": name, "host": address, "port": port, "family": 0, "proto": 0, "flags": 0}

    async def close(self) -> None:
        pass


class TwoFaced(Names):
    """A name server with different addresses for the check and for the connection."""

    def _result(self, name: str, address: str, port: int) -> ResolveResult:
        first, then = address.split(">")
        return cast(
            ResolveResult,
            Changing(super()._result(name, "", port), itertools.chain([first], itertools.repeat(then))),
        )


class Changing(dict[str, Any]):
    """A mapping that returns its `host` once, and then another one."""

    def __init__(self, fields: ResolveResult, hosts: Iterator[str]) -> None:
        super().__init__(fields)
        self._hosts = hosts

    def __getitem__(self, key: str) -> Any:
        return next(self._hosts) if key == "host" else super().__getitem__(key)


@pytest.fixture(scope="module")
def public() -> Iterator[Rig]:
    """A side that dials only public addresses, as in a cluster."""
    rig = Rig(EgressPolicy())
    rig.server.answer("/", reply(200))
    yield rig
    rig.close()


@pytest.fixture
def names(request: pytest.FixtureRequest) -> Iterator[Rig]:
    """A local side with a name server: loopback is the permitted address."""
    rig = Rig(REACH, request.param)
    rig.server.answer("/", reply(200, "Connection: close\r\n"))
    yield rig
    rig.close()


def reason(rows: list[Row]) -> str:
    """The reason of the only dead letter."""
    (dead,) = records(rows)
    assert dead.topic == Topic.DEAD_LETTER
    (receipt,) = receipts(rows)
    assert (receipt.result, receipt.tries, receipt.status) == ("dead", 1, None)
    return (dict(dead.headers)[h.REASON] or b"").decode()


def send_to(rig: Rig, url: str) -> list[Row]:
    rig.pipe("p1", "/", options={"url": url})
    return rig.deliver(flat_batch([row(1)]))


@pytest.mark.parametrize("host", HOSTS)
def test_an_inner_address_is_a_dead_letter_and_nothing_is_dialled(public: Rig, host: str) -> None:
    said = reason(send_to(public, f"http://{host}:{public.server.port}/"))
    assert said.startswith(("refused_address: `url` leads to a", "bad_url: "))
    assert (public.dialled, public.server.connections) == ([], 0)


@pytest.mark.parametrize("host", ["localhost.", "a.localhost", "%31%32%37.0.0.1", "127.0.0.1.nip.invalid"])
def test_a_name_that_looks_like_loopback_is_not_dialled_whether_anybody_knows_it_or_not(
    public: Rig, host: str
) -> None:
    (moved,) = records(send_to(public, f"http://{host}:{public.server.port}/"))
    assert moved.topic in (Topic.DEAD_LETTER, Topic.RETRY_IN_30S)
    assert (public.dialled, public.server.connections) == ([], 0)


def test_only_the_canarys_destinations_may_have_the_address_where_it_receives() -> None:
    rig = Rig(EgressPolicy(), canary_egress=EgressPolicy(address=IPv4Address("127.0.0.1")))
    rig.server.answer("/", reply(200))
    try:
        rig.pipe("p1", "/", tenant=CANARY)
        rows = rig.deliver(flat_batch([row(1, tenant=CANARY)]))
        assert [receipt.result for receipt in receipts(rows)] == ["delivered"]
        # No other tenant may use the connection that the canary's request has opened.
        rig.pipe("p1", "/", tenant="shop")
        assert reason(rig.deliver(flat_batch([row(2, tenant="shop")]))).startswith("refused_address: ")
        assert len(rig.dialled) == 1
    finally:
        rig.close()


def test_the_refusal_names_the_fix_and_not_the_address_of_an_internal_name(public: Rig) -> None:
    assert reason(send_to(public, f"https://localhost:{public.server.port}/")) == (
        "refused_address: `url` leads to a loopback address; give a public address, or a name that resolves "
        "to one; only a local side may dial its own machine (HIFI_ALLOW_LOOPBACK=true)"
    )


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_a_local_side_delivers_to_its_own_machine(host: str) -> None:
    rig = Rig(REACH)
    try:
        rig.server.answer("/", reply(200))
        (receipt,) = receipts(send_to(rig, f"http://{host}:{rig.server.port}/"))
        assert receipt.result == "delivered"
        assert "127.0.0.1" in rig.dialled
    finally:
        rig.close()


@pytest.mark.parametrize("variable", ["http_proxy", "HTTP_PROXY", "ALL_PROXY"])
def test_a_proxy_of_the_environment_does_not_dial_in_our_place(
    public: Rig, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    monkeypatch.setenv(variable, f"http://127.0.0.1:{public.server.port}")
    assert "cloud metadata" in reason(send_to(public, "http://169.254.169.254/"))
    assert (public.dialled, public.server.connections) == ([], 0)


@pytest.mark.parametrize(
    "names",
    [
        Names({"evil.test": [[address]]})
        for address in [
            "10.0.0.1",
            "169.254.169.254",
            "::ffff:127.0.0.1",
            "64:ff9b::a00:1",
            "fd00:ec2::254",
            "fe80::1%lo",
        ]
    ]
    + [Names({"evil.test": [["10.0.0.1", "10.0.0.2", "fd00::1"]]})],
    indirect=True,
)
def test_a_name_that_leads_to_inner_addresses_only_is_a_dead_letter(names: Rig) -> None:
    assert reason(send_to(names, f"http://evil.test:{names.server.port}/")).startswith(
        "refused_address: `url` "
    )
    assert names.dialled == []


@pytest.mark.parametrize(
    "names", [Names({"mixed.test": [["fd00::1", "10.0.0.1", "127.0.0.1"]]})], indirect=True
)
def test_a_name_with_a_good_address_among_inner_ones_is_dialled_there_only(names: Rig) -> None:
    (receipt,) = receipts(send_to(names, f"http://mixed.test:{names.server.port}/"))
    assert receipt.result == "delivered"
    assert names.dialled == ["127.0.0.1"]


@pytest.mark.parametrize(
    "names", [Names({"mixed.test": [["10.0.0.1", "127.0.0.1", "fd00::1"]]})], indirect=True
)
def test_a_public_address_that_does_not_answer_is_not_refused(names: Rig) -> None:
    names.server.close()
    (later,) = records(send_to(names, f"http://mixed.test:{names.server.port}/"))
    assert later.topic == Topic.RETRY_IN_30S
    assert set(names.dialled) == {"127.0.0.1"}


@pytest.mark.parametrize("names", [Names({"turn.test": [["127.0.0.1"], ["169.254.169.254"]]})], indirect=True)
def test_a_name_that_turns_to_an_inner_address_later_is_refused_then(names: Rig) -> None:
    url = f"http://turn.test:{names.server.port}/"
    names.pipe("p1", "/", options={"url": url})
    (receipt,) = receipts(names.deliver(flat_batch([row(1)])))
    assert receipt.result == "delivered"
    names.let_pass(SECONDS)
    assert "cloud metadata" in reason(names.deliver(flat_batch([row(2)])))
    assert names.dialled == ["127.0.0.1"]


@pytest.mark.parametrize(
    ("names", "kind"),
    [
        (TwoFaced({"two.test": [["127.0.0.1>10.0.0.1"]]}), "private"),
        (TwoFaced({"two.test": [["127.0.0.1>::ffff:169.254.169.254"]]}), "IPv4-in-IPv6"),
        (TwoFaced({"two.test": [["127.0.0.1>inner.example"]]}), "reserved"),
        (TwoFaced({"two.test": [["127.0.0.1>0x7f.1"]]}), "reserved"),
    ],
    indirect=["names"],
)
def test_an_answer_that_changes_between_check_and_use_is_refused_where_it_is_dialled(
    names: Rig, kind: str
) -> None:
    assert f" {kind} address" in reason(send_to(names, f"http://two.test:{names.server.port}/"))
    assert names.dialled == []


@pytest.mark.parametrize("status", [300, 301, 302, 303, 305, 307, 308])
def test_no_redirect_is_followed_wherever_it_leads(names_to_nowhere: Rig, status: int) -> None:
    rig = names_to_nowhere
    port = rig.server.port
    for turn, location in enumerate(
        [
            "/secret",
            f"http://127.0.0.1:{port}/secret",
            f"http://localhost:{port}/secret",
            f"http://[::ffff:127.0.0.1]:{port}/secret",
            "http://169.254.169.254/latest/meta-data/",
            "//10.0.0.1/",
            "http://2130706433/",
            "file:///etc/hostname",
        ]
    ):
        rig.server.answer("/", reply(status, f"Location: {location}\r\nRefresh: 0;url={location}\r\n"))
        asked = len(rig.server.heads)
        (dead,) = records(rig.deliver(flat_batch([row(turn)])))
        assert (dead.topic, dict(dead.headers)[h.STATUS]) == (Topic.DEAD_LETTER, str(status).encode())
        assert len(rig.server.heads) == asked + 1
    assert set(rig.dialled) == {"127.0.0.1"}
    assert not any(b"secret" in head for head in rig.server.heads)


@pytest.fixture(scope="module")
def names_to_nowhere() -> Iterator[Rig]:
    """A local side with one pipe to its server."""
    rig = Rig(REACH)
    rig.server.answer("/secret", reply(200))
    rig.pipe("p1", "/")
    yield rig
    rig.close()


def test_the_socket_is_made_for_a_good_address_only() -> None:
    family, kind, protocol = 2, 1, 6
    with guarded_socket(EgressPolicy(), (family, kind, protocol, "", ("1.1.1.1", 443))) as made:
        assert (made.family, made.type, made.proto) == (family, kind, protocol)
    with pytest.raises(RefusedAddressError):
        guarded_socket(EgressPolicy(), (family, kind, protocol, "", ("127.0.0.1", 443)))
