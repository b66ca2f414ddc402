"""Configuration changes on a running chain take effect soon, without a gap in delivery.

The part `in-force` of the proof measures how soon.
"""

import json
from pathlib import Path
from uuid import uuid4

import httpx
import pytest
from confluent_kafka.admin import AdminClient

from scripts.load.fault_injection import FaultInjection, parse_rule
from scripts.load.receiver import Receiver, running
from scripts.load.records import read_acked
from scripts.local.services import says_ready
from shared.contracts.side_weights import LOCAL
from shared.contracts.topics import Topic, topic_specs
from shared.kafka.admin import ensure_topics
from tests.harness.live_side import LiveSide, sending
from tests.harness.waiting import eventually

RATE = 300


def documents(name: str, receiver: Receiver, *pipes: str) -> list[dict[str, object]]:
    source: dict[str, object] = {
        "kind": "source",
        "name": name,
        "tenant": name,
        "write_keys": [f"integration-{name}"],
    }
    return [source, *(found for pipe in pipes for found in pipe_documents(name, receiver, pipe))]


def pipe_documents(name: str, receiver: Receiver, pipe: str) -> list[dict[str, object]]:
    both: dict[str, object] = {"name": f"{name}-{pipe}", "tenant": name}
    destination: dict[str, object] = {
        "kind": "destination",
        "options": {"url": f"{receiver.url}/{pipe}"},
        **both,
    }
    return [destination, {"kind": "pipe", "source": name, "destination": f"{name}-{pipe}"} | both]


class ApiTenant:
    """A tenant with the same document names as every other one, created through the management API."""

    def __init__(self, live: LiveSide, name: str) -> None:
        self.name, self._live = f"{name}-{uuid4().hex[:8]}", live
        self.receiver = Receiver(on_body=lambda _path, body, _headers: self.bodies.append(body))
        self.bodies: list[bytes] = []
        headers = {"Authorization": f"Bearer {live.side.token_file.read_text().strip()}"}
        root = f"{live.side.api_url}/v1/tenants/{self.name}"
        self.api = httpx.Client(headers=headers, timeout=60, base_url=root)
        self._key = ""

    def put(self) -> None:
        new, sink = {"If-None-Match": "*"}, {"options": {"url": f"{self.receiver.url}/"}}
        made = [
            self.api.put("/sources/shop", json={}, headers=new),
            self.api.put("/destinations/shop", json=sink, headers=new),
            self.api.put("/pipes/shop", json={"source": "shop", "destination": "shop"}, headers=new),
        ]
        assert [each.status_code for each in made] == [201] * 3, made[-1].text
        self._key = made[0].json()["write_key"]

    def send(self, *ids: str) -> bool:
        event = {"specversion": "1.0", "source": "/shop", "type": "sold", "data": {"of": self.name}}
        body = json.dumps([event | {"id": each} for each in ids]).encode()
        return self._live.post(self._key, body, "application/cloudevents-batch+json")

    def arrived(self, *ids: str) -> bool:
        return self.receiver.counts("/").seen >= {*ids}

    def figures(self) -> tuple[int, int]:
        """Delivered events and failed tries of its destination; 0 before the first receipt is read."""
        found = self.api.get("/meter/destinations").json()
        return sum(each["delivered"] for each in found), sum(each["failed"] for each in found)

    def letters(self) -> list[str]:
        return [each["id"] for each in self.api.get("/dead-letters").json()["items"]]

    def status(self) -> str:
        return str(self.api.get("/pipes/shop").json()["status"][LOCAL]["state"])


def test_two_tenants_with_the_same_names_and_event_ids_have_their_own_of_everything(live: LiveSide) -> None:
    acme, zoo = both = ApiTenant(live, "acme"), ApiTenant(live, "zoo")
    with running(acme.receiver), running(zoo.receiver), acme.api, zoo.api:
        for each in both:
            each.put()
        # Until the pipe is in force, events match nothing.
        eventually(lambda: acme.send("probe") and acme.arrived("probe"), 60, "acme's", every=0.5)
        eventually(lambda: zoo.send("probe") and zoo.arrived("probe"), 60, "zoo's", every=0.5)
        ids = [f"e{number}" for number in range(20)]
        assert all(each.send(*ids) for each in both)
        eventually(lambda: all(each.arrived(*ids) for each in both), 60, "each event arrives at its tenant's")
        zoo.receiver.misbehaviour = FaultInjection([parse_rule("404=100%")])
        assert all(each.send("last") for each in both)
        eventually(lambda: zoo.letters() == ["last"], 60, "one of the two has a dead letter")
        eventually(lambda: acme.arrived("last"), 60)
        eventually(lambda: zoo.figures()[1] == 1 and acme.figures()[0] > len(ids), 60, "the meter has both")
        assert (acme.figures()[1], acme.letters()) == (0, [])
        for each in both:
            assert {data["of"] for body in each.bodies for data in datas(body)} == {each.name}
            assert each.receiver.counts("/").duplicated == 0
        eventually(lambda: acme.status() == zoo.status() == "in force", 60)


def datas(body: bytes) -> list[dict[str, str]]:
    """The data of a request's events."""
    return [event["data"] for event in json.loads(body)]


def test_a_new_pipe_delivers_and_the_old_one_has_no_gap(live: LiveSide, tmp_path: Path) -> None:
    name, acked = f"live-{uuid4().hex[:8]}", tmp_path / "acked.tsv"
    spark = live.supervisor.pid("spark")
    with running(Receiver()) as receiver:
        live.apply(*documents(name, receiver, "old"))
        with sending(live.url, key=f"integration-{name}", rate=RATE, batch=10, acked=acked):
            eventually(lambda: receiver.counts("/old").distinct > RATE, 60, "the first pipe delivers")
            steady = max(map(counter, set(receiver.counts("/old").seen)))
            live.apply(*pipe_documents(name, receiver, "new"))
            eventually(lambda: receiver.counts("/new").arrivals, what="the new pipe delivers")
            eventually(lambda: receiver.counts("/new").distinct > RATE, 60, "the new pipe goes on")
        # Events sent before the first pipe was in force matched nothing.
        ids, seen = since(steady, acked), receiver.counts("/old").seen
        eventually(lambda: ids <= seen, 60, "the old pipe has no gap")
        assert live.supervisor.pid("spark") == spark


def since(start: int, acked: Path) -> set[str]:
    """The acknowledged ids from the counter `start` on."""
    return {row.event_id for row in read_acked(acked) if counter(row.event_id) > start}


def counter(event_id: str) -> int:
    """The counter at the end of a generated id."""
    return int(event_id.rsplit("-", 1)[1])


@pytest.mark.proof
def test_everything_goes_on_without_the_config_topic(live: LiveSide, tmp_path: Path) -> None:
    name, acked = f"gone-{uuid4().hex[:8]}", tmp_path / "acked.tsv"
    admin = AdminClient({"bootstrap.servers": live.bootstrap})
    with running(Receiver()) as receiver:
        live.apply(*documents(name, receiver, "old"))
        with sending(live.url, key=f"integration-{name}", rate=RATE, batch=10, acked=acked):
            eventually(lambda: receiver.counts("/old").distinct > RATE, 60, "the pipe delivers")
            steady = max(map(counter, set(receiver.counts("/old").seen)))
            try:
                admin.delete_topics([Topic.CONFIG])[Topic.CONFIG].result(30)
                goal = receiver.counts("/old").distinct + 15 * RATE  # two real-time batches of route
                eventually(lambda: receiver.counts("/old").distinct >= goal, 60, "events flow without it")
            finally:
                eventually(lambda: Topic.CONFIG not in admin.list_topics(timeout=10).topics, 60, "it is gone")
                ensure_topics(live.bootstrap, topic_specs(live.side.partitions))
            live.apply(*documents(name, receiver, "old", "again"))
            eventually(lambda: receiver.counts("/again").arrivals, 60, "a new config topic is taken up")
        ids, seen = since(steady, acked), receiver.counts("/old").seen
        eventually(lambda: ids <= seen, 60, "nothing is missing")


@pytest.mark.proof
def test_a_side_whose_config_topic_was_emptied_has_everything_again_before_it_is_ready(
    live: LiveSide,
) -> None:
    name = f"empty-{uuid4().hex[:8]}"
    admin = AdminClient({"bootstrap.servers": live.bootstrap})
    with running(Receiver()) as receiver:
        live.apply(*documents(name, receiver, "old"))
        live.hold_down("provision")
        admin.delete_topics([Topic.CONFIG])[Topic.CONFIG].result(30)
        eventually(lambda: Topic.CONFIG not in admin.list_topics(timeout=10).topics, 60, "it is gone")
        ensure_topics(live.bootstrap, topic_specs(live.side.partitions))
        live.kill("collect")
        log = live.side.logs / "collect.log"
        eventually(lambda: "topic lacks a part" in log.read_text(), 60, "collect has read the empty topic")
        assert not says_ready(live.side.collect_port), "collect is ready without the documents"
        assert live.terminate() == 0
        live.up()
        assert live.post(f"integration-{name}", b'{"n": 1}', "application/json"), "the key is unknown"
        eventually(lambda: receiver.counts("/old").arrivals, 60, "the event arrives")
