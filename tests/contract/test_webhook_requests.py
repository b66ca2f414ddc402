"""Requests that an HTTP destination receives: format, verifiable signature, valid token."""

import asyncio
import base64
import json
from typing import Any, Final

import pytest

from pipelines.data.transmit.connectors.http import oauth2
from pipelines.data.transmit.delivery.kafka_rows import Row
from shared.contracts import headers as h
from shared.contracts.egress_policy import EgressPolicy
from shared.contracts.signing import key_of, signed
from shared.contracts.topics import Topic
from tests.contract.transmit_rig import AMPLE, Rig, receipts, records
from tests.harness.scripted_server import reply
from tests.harness.waiting import eventually
from tests.unit.pipelines.data.transmit.transmit_events import flat_batch, row

KEYS: Final = {f"secret://t/{n}": "whsec_" + base64.b64encode(bytes([n]) * 32).decode() for n in (1, 2, 3)}
BEARER: Final = {"auth": {"type": "bearer", "token": "secret://t/token"}}


def headers(head: bytes) -> dict[str, str]:
    lines = head.decode().split("\r\n")[1:]
    return {name.lower(): text for name, _, text in (line.partition(": ") for line in lines)}


def requests(rig: Rig, path: str = "/") -> list[tuple[dict[str, str], bytes]]:
    """Headers and body of each request to a path so far."""
    both = zip(rig.server.heads, rig.server.bodies, strict=True)
    return [(headers(head), body) for head, body in both if head.split()[1].decode() == path]


def reason(rows: list[Row]) -> str:
    """The reason of the only event that did not arrive."""
    (record,) = records(rows)
    return (dict(record.headers)[h.REASON] or b"").decode()


def test_an_event_a_request_has_an_answer_of_its_own(rig: Rig) -> None:
    async def not_the_second(body: bytes, writer: asyncio.StreamWriter) -> None:
        writer.write(reply(400 if json.loads(body)["id"] == "e2" else 200))

    rig.server.manners["/"] = not_the_second
    rig.pipe("p1", "/", options={"format": "event"})
    rows = rig.deliver(flat_batch([row(n) for n in range(5)]))
    assert sorted(i for r in receipts(rows) if r.result == "delivered" for i in r.ids) == [
        "e0",
        "e1",
        "e3",
        "e4",
    ]
    assert [r.topic for r in records(rows)] == [Topic.DEAD_LETTER]
    assert len(rig.server.bodies) == 5


def test_a_signature_can_be_checked_with_each_key_and_covers_the_very_bytes(rig: Rig) -> None:
    rig.secrets.values |= KEYS
    rig.server.answer("/", reply(200))
    rig.pipe("p1", "/", options={"signing": {"keys": ["secret://t/1", "secret://t/2"]}})
    rig.deliver(flat_batch([row(1, value=b'{"n": 1.10}')]))
    ((sent, body),) = requests(rig)
    message, seconds = sent["webhook-id"], int(sent["webhook-timestamp"])
    first, second = sent["webhook-signature"].split(" ")
    for found, name in ((first, "secret://t/1"), (second, "secret://t/2")):
        assert signed([key_of(KEYS[name])], message, seconds, body)["webhook-signature"] == found


def test_a_message_keeps_its_id_through_all_tries_and_gets_the_time_of_each(rig: Rig) -> None:
    rig.secrets.values |= KEYS
    rig.server.answer("/", reply(503))
    rig.pipe("p1", "/", options={"signing": {"keys": ["secret://t/1"]}})
    rig.deliver(flat_batch([row(1), row(2)]))
    rig.ahead_ms = 30_000
    rig.deliver(flat_batch([row(1, attempt=2), row(2, attempt=2)]))
    sent = [found for found, _ in requests(rig)]
    assert len({found["webhook-id"] for found in sent}) == 1
    times = [int(found["webhook-timestamp"]) for found in sent]
    assert (len(times), times == sorted(times), times[-1] - times[0] >= 30) == (6, True, True)


def test_a_key_is_changed_without_a_new_document(rig: Rig) -> None:
    rig.secrets.values |= KEYS
    rig.server.answer("/", reply(200))
    rig.pipe("p1", "/", options={"signing": {"keys": ["secret://t/1"]}})
    rig.deliver(flat_batch([row(1)]))
    rig.secrets.values["secret://t/1"] = KEYS["secret://t/3"]
    rig.deliver(flat_batch([row(2)]))
    (_, (sent, body)) = requests(rig)
    again = signed([key_of(KEYS["secret://t/3"])], sent["webhook-id"], int(sent["webhook-timestamp"]), body)
    assert again["webhook-signature"] == sent["webhook-signature"]


@pytest.mark.parametrize(
    ("options", "value", "said"),
    [
        (BEARER, "to\nken", "is empty, or holds a line break or a character outside ASCII"),
        (BEARER, "tok\u00e9n", "is empty, or holds"),
        (BEARER, " \n", "is empty, or holds"),
        ({"headers": {"X-Key": "secret://t/token"}}, "a\r\nb", "is empty, or holds"),
        ({"signing": {"keys": ["secret://t/token"]}}, "not-a-key", "is not a signing key; make one: whsec_"),
    ],
)
def test_a_secret_that_cannot_be_used_is_named_and_its_events_wait(
    rig: Rig, options: dict[str, Any], value: str, said: str
) -> None:
    rig.secrets.values["secret://t/token"] = value
    rig.pipe("p1", "/", options=options)
    rows = rig.deliver(flat_batch([row(1)]))
    assert [r.topic for r in records(rows)] == [Topic.RETRY_IN_30S]
    assert reason(rows).startswith(f"bad_secret: secret://t/token {said}")
    assert value not in repr(rows)
    assert not rig.server.heads


def test_the_end_of_a_secrets_line_is_not_part_of_it(rig: Rig) -> None:
    rig.secrets.values["secret://t/token"] = "token\n"
    rig.server.answer("/", reply(200))
    rig.pipe("p1", "/", options=BEARER)
    rig.deliver(flat_batch([row(1)]))
    assert requests(rig)[0][0]["authorization"] == "Bearer token"


@pytest.mark.parametrize("manner", ["status line", "header", "body"])
def test_a_destination_that_echoes_a_secret_gets_it_into_no_record(rig: Rig, manner: str) -> None:
    rig.secrets.values["secret://t/token"] = "very-secret"

    async def echo(_: bytes, writer: asyncio.StreamWriter) -> None:
        said = headers(rig.server.heads[-1])["authorization"].encode()
        answers = {
            "status line": b"HTTP/1.1 " + said + b"\r\n\r\n",
            "header": b"HTTP/1.1 200 OK\r\n" + said + b"\r\n\r\n",
            "body": reply(400, body=said.decode()),
        }
        writer.write(answers[manner])
        await writer.drain()
        writer.close()

    rig.server.manners["/"] = echo
    rig.pipe("p1", "/", options=BEARER)
    rows = rig.deliver(flat_batch([row(1)]))
    assert len(records(rows)) == 1
    assert "very-secret" not in repr(rows)


class Issuer:
    """A token endpoint at `/token` of the rig's server, and a destination at `/` for its newest token."""

    def __init__(self, rig: Rig, lifetime: float = 3600.0) -> None:
        self.lifetime = lifetime
        self.issued = 0
        self.good = ""
        """The token that the destination accepts."""
        rig.secrets.values["secret://t/client"] = "client-secret"
        rig.server.manners |= {"/token": self._issue, "/": self._take}
        self._rig = rig
        self.pipe("p1")

    def pipe(self, name: str, **fields: Any) -> None:
        """A pipe to a destination that needs a token."""
        auth = {
            "type": "oauth2",
            "token_url": f"http://127.0.0.1:{self._rig.server.port}/token",
            "client_id": "hifi",
            "client_secret": "secret://t/client",
        }
        self._rig.pipe(name, "/", options={"auth": auth}, **fields)

    async def _issue(self, _: bytes, writer: asyncio.StreamWriter) -> None:
        self.issued += 1
        await asyncio.sleep(0.05)  # so that others wait for the same one
        self.good = f"token-{self.issued}"
        text = json.dumps({"access_token": self.good, "token_type": "Bearer", "expires_in": self.lifetime})
        writer.write(reply(200, body=text))

    async def _take(self, _: bytes, writer: asyncio.StreamWriter) -> None:
        said = headers(self._rig.server.heads[-1]).get("authorization")
        writer.write(reply(200 if said == f"Bearer {self.good}" else 401))


def tokens_used(rig: Rig) -> list[str]:
    return [found["authorization"].removeprefix("Bearer ") for found, _ in requests(rig)]


def test_many_requests_share_one_token(rig: Rig) -> None:
    issuer = Issuer(rig)
    issuer.pipe("p2")
    issuer.pipe("p1", max_events=1)
    rows = rig.deliver(flat_batch([row(n, pipe=f"p{1 + n % 2}") for n in range(20)]))
    assert {r.result for r in receipts(rows)} == {"delivered"}
    assert (issuer.issued, set(tokens_used(rig))) == (1, {"token-1"})


def test_a_token_is_renewed_before_its_end_while_the_old_one_is_used(rig: Rig) -> None:
    issuer = Issuer(rig, lifetime=1_000)
    rig.deliver(flat_batch([row(1)]))
    rig.ahead_ms = 945_000
    rig.server.answer("/", reply(200))
    rig.deliver(flat_batch([row(2)]))
    eventually(lambda: issuer.issued == 2 and issuer.good == "token-2")
    rig.deliver(flat_batch([row(3)]))
    assert tokens_used(rig) == ["token-1", "token-1", "token-2"]


def test_a_token_past_its_end_is_not_used(rig: Rig) -> None:
    Issuer(rig, lifetime=100)
    rig.deliver(flat_batch([row(1)]))
    rig.ahead_ms = 100_001
    rig.deliver(flat_batch([row(2)]))
    assert tokens_used(rig) == ["token-1", "token-2"]


def test_a_token_that_was_revoked_is_replaced_within_the_same_try(rig: Rig) -> None:
    issuer = Issuer(rig)
    rig.deliver(flat_batch([row(1)]))
    issuer.good = "another"
    (receipt,) = receipts(rig.deliver(flat_batch([row(2)])))
    assert (receipt.result, receipt.tries) == ("delivered", 1)
    assert tokens_used(rig) == ["token-1", "token-1", "token-2"]


def test_a_destination_that_takes_no_token_is_asked_twice_and_no_more(rig: Rig) -> None:
    issuer = Issuer(rig)
    rig.server.answer("/", reply(401))
    rows = rig.deliver(flat_batch([row(1)]))
    assert [r.topic for r in records(rows)] == [Topic.DEAD_LETTER]
    assert (tokens_used(rig), issuer.issued) == (["token-1", "token-2"], 2)


@pytest.mark.parametrize(
    ("answer", "asked", "said"),
    [
        (reply(401, body="client-secret is wrong"), 1, "token_refused: `auth.token_url` answered 401"),
        (reply(302, "Location: /other\r\n"), 1, "token_refused: `auth.token_url` answered 302"),
        (reply(503), 3, "token_refused: `auth.token_url` answered 503"),
        (reply(429), 1, "token_refused: `auth.token_url` answered 429"),
        (reply(200, body="client-secret"), 1, "token_unusable: `auth.token_url` gave no token in JSON"),
        (b"client-secret\r\n\r\n", 3, "unreachable: the answer is not HTTP"),
    ],
)
def test_without_a_token_nothing_is_sent_and_the_events_wait(
    rig: Rig, answer: bytes, asked: int, said: str
) -> None:
    Issuer(rig)
    rig.server.answer("/token", answer)
    rows = rig.deliver(flat_batch([row(1)]))
    assert [r.topic for r in records(rows)] == [Topic.RETRY_IN_30S]
    assert reason(rows).startswith(said)
    assert (len(requests(rig, "/token")), len(requests(rig))) == (asked, 0)
    assert "client-secret" not in repr(rows)


def test_a_token_endpoint_that_hangs_costs_a_try_its_time_and_others_nothing(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(oauth2, "ASK_SECONDS", AMPLE)

    async def hang(_: bytes, writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(60)

    issuer = Issuer(rig)
    rig.server.manners["/token"] = hang
    issuer.pipe("p1", timeout_seconds=0.3)
    rig.server.answer("/open", reply(200))
    rig.pipe("p2", "/open")
    rows = rig.deliver(flat_batch([row(1), row(2, pipe="p2")]))
    assert {r.pipe: r.result for r in receipts(rows)} == {"p1": "retry", "p2": "delivered"}
    assert reason(rows) == "timeout: no token within 0.3 s"
    assert rig.seconds < AMPLE, "the deadline"
    assert len(requests(rig, "/token")) == 1, "all tries wait for one response"


def test_a_token_endpoint_on_an_inner_address_is_not_dialled() -> None:
    public = Rig(EgressPolicy())
    try:
        Issuer(public)
        rows = public.deliver(flat_batch([row(1)]))
        assert [r.topic for r in records(rows)] == [Topic.DEAD_LETTER]
        assert reason(rows).startswith("refused_address: `auth.token_url` leads to a loopback address")
        assert (public.dialled, public.server.connections) == ([], 0)
    finally:
        public.close()
