"""Real webhook payloads through the whole chain: routed by content, unchanged in every byte."""

import gzip
import json
import os
import urllib.error
import urllib.request
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from http import HTTPStatus
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scripts.load.receiver import Receiver, running
from tests.harness.live_side import LiveSide
from tests.harness.waiting import eventually
from tests.strategies import json_texts

WEBHOOKS = Path(__file__).parents[3] / "shared" / "data" / "github-webhooks.ndjson.gz"
KEY = "integration-real-events"
ARRIVE_SECONDS = 120


class Delivered(msgspec.Struct):
    """The fields of a delivered event that the test reads."""

    id: str
    data: msgspec.Raw = msgspec.Raw(b"")


class Captured:
    """Data bytes by path and event id."""

    def __init__(self) -> None:
        self.data: dict[str, dict[str, bytes]] = {}

    def take(self, path: str, body: bytes, _: Mapping[str, str]) -> None:
        for event in msgspec.json.decode(body, type=list[Delivered]):
            self.data.setdefault(path, {})[event.id] = bytes(event.data)

    def at(self, path: str) -> dict[str, bytes]:
        return self.data.get(path, {})

    def has(self, path: str, ids: Iterable[str]) -> bool:
        return set(ids) <= self.at(path).keys()


@pytest.fixture(scope="module")
def captured(live: LiveSide) -> Iterator[Captured]:
    caught = Captured()
    with running(Receiver(on_body=caught.take)) as receiver:
        pipes = {
            "all": {},
            "opened": {"data": {"action": ["opened"]}},
            "bots": {"data": {"sender": {"type": ["Bot"]}}},
            "issues": {
                "type": [{"prefix": "com.github.issues."}],
                "data": {"issue": {"number": [{"exists": True}]}},
            },
        }
        live.apply(
            {"kind": "source", "name": "real", "tenant": "real", "write_keys": [KEY]},
            *(
                {
                    "kind": "destination",
                    "name": f"real-{n}",
                    "tenant": "real",
                    "options": {"url": f"{receiver.url}/{n}"},
                }
                for n in pipes
            ),
            *(
                {"kind": "pipe", "name": f"real-{n}", "tenant": "real", "source": "real"}
                | {"destination": f"real-{n}", "match": match}
                for n, match in pipes.items()
            ),
        )
        _wait_until_live(live, caught)
        yield caught


def _wait_until_live(live: LiveSide, caught: Captured) -> None:
    """Send probes until one arrives: key and pipes take effect after a few seconds."""

    def probe() -> bool:
        try:
            post(live, [{"specversion": "1.0", "id": "probe", "source": "t", "type": "probe", "data": 1}])
        except urllib.error.HTTPError as refusal:
            assert refusal.code == HTTPStatus.UNAUTHORIZED, refusal
        return "probe" in caught.at("/all")

    eventually(probe, 120, "the pipes are live", every=0.5)


def post(live: LiveSide, events: list[dict[str, object]]) -> None:
    lines = [json.dumps(event, ensure_ascii=False) for event in events]
    post_lines(live, [line.encode() for line in lines])


def post_lines(live: LiveSide, lines: list[bytes]) -> None:
    request = urllib.request.Request(
        f"{live.url}/v1/events",
        data=gzip.compress(b"\n".join(lines)),
        headers={
            "Authorization": f"Bearer {KEY}",
            "Content-Type": "application/x-ndjson",
            "Content-Encoding": "gzip",
        },
    )
    with urllib.request.urlopen(request, timeout=120) as reply:
        assert reply.status == 202


def real_lines() -> list[bytes]:
    """The webhook payloads, or as many generated events of the same shape if the file is missing."""
    if WEBHOOKS.exists():
        return gzip.decompress(WEBHOOKS.read_bytes()).splitlines()
    return [json.dumps(generated(number)).encode() for number in range(255)]


def generated(number: int) -> dict[str, object]:
    issue = {"number": number, "body": "é\u2028" * number}
    return {
        "specversion": "1.0",
        "id": f"issues.{number}",
        "source": "https://api.github.com/webhooks",
        "type": "com.github.issues.opened",
        "time": "2026-06-22T07:13:09Z",
        "data": {"action": "opened", "issue": issue, "sender": {"type": "Bot"}},
    }


def test_webhook_payloads_arrive_byte_for_byte_at_the_pipes_that_match_them(
    live: LiveSide, captured: Captured
) -> None:
    sent = {event.id: bytes(event.data) for event in map(_event, real_lines())}
    post_lines(live, real_lines())
    content = {name: json.loads(data) for name, data in sent.items()}
    expected = {
        "/all": set(sent),
        "/opened": {n for n, d in content.items() if d.get("action") == "opened"},
        "/bots": {n for n, d in content.items() if d.get("sender", {}).get("type") == "Bot"},
        "/issues": {
            n for n, d in content.items() if n.startswith("issues.") and "number" in d.get("issue", {})
        },
    }
    assert all(expected.values()), "a pattern matches nothing, so the test shows nothing"
    for path, ids in expected.items():
        eventually(partial(captured.has, path, ids), ARRIVE_SECONDS, f"all of {path} arrive")
        arrived = {name: data for name, data in captured.at(path).items() if name in sent}
        assert arrived == {name: sent[name] for name in ids}


def _event(line: bytes) -> Delivered:
    return msgspec.json.decode(line, type=Delivered)


@settings(
    max_examples=int(os.environ.get("HIFI_CHAIN_EXAMPLES", "6")),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(texts=st.lists(json_texts(), min_size=30, max_size=60))
def test_any_json_text_arrives_as_it_was_written(
    live: LiveSide, captured: Captured, texts: list[str]
) -> None:
    """Each example is a request of many events, as the chain is slower than a function."""
    run = len(captured.at("/all"))
    sent = {f"text.{run}.{n}": text.encode() for n, text in enumerate(texts)}
    post_lines(
        live,
        [
            b'{"specversion":"1.0","id":"%s","source":"t","type":"t","data":%s}' % (name.encode(), data)
            for name, data in sent.items()
        ],
    )
    eventually(lambda: sent.keys() <= captured.at("/all").keys(), ARRIVE_SECONDS, "all arrive")
    assert {name: captured.at("/all")[name] for name in sent} == sent
