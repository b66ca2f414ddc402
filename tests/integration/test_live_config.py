"""Configuration changes on a running chain: in force within ten seconds, without a gap in delivery."""

import time
from pathlib import Path
from uuid import uuid4

import httpx
import pytest
from confluent_kafka.admin import AdminClient

from scripts.load.receiver import Receiver, running
from scripts.load.records import read_acked
from shared.contracts.topics import Topic, topic_specs
from shared.kafka.admin import ensure_topics
from tests.harness.live_side import LiveSide, sending
from tests.harness.waiting import eventually

LIVE_SECONDS = 10
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


def test_what_is_put_through_the_management_api_is_in_force(live: LiveSide) -> None:
    name = f"api-{uuid4().hex[:8]}"
    token = live.side.token_file.read_text().strip()
    headers = {"Authorization": f"Bearer {token}", "If-None-Match": "*"}
    place = f"{live.side.api_url}/v1/tenants/{name}"
    with running(Receiver()) as receiver, httpx.Client(headers=headers, timeout=10) as api:
        source = api.put(f"{place}/sources/{name}", json={})
        sink = api.put(f"{place}/destinations/{name}", json={"options": {"url": f"{receiver.url}/api"}})
        pipe = api.put(f"{place}/pipes/{name}", json={"source": name, "destination": name})
        assert [each.status_code for each in (source, sink, pipe)] == [201] * 3, pipe.text

        def arrived() -> bool:
            """Until the pipe is in force, events match nothing."""
            posted = live.post(source.json()["write_key"], b'{"n": 1}', "application/json")
            return posted and bool(receiver.counts("/api").arrivals)

        eventually(arrived, 30, "an event arrives by the key that the API made", every=0.5)


def test_a_new_pipe_delivers_within_ten_seconds_and_the_old_one_has_no_gap(
    live: LiveSide, tmp_path: Path
) -> None:
    name, acked = f"live-{uuid4().hex[:8]}", tmp_path / "acked.tsv"
    spark = live.supervisor.pid("spark")
    with running(Receiver()) as receiver:
        live.apply(*documents(name, receiver, "old"))
        with sending(live.url, key=f"integration-{name}", rate=RATE, batch=10, acked=acked):
            eventually(lambda: receiver.counts("/old").distinct > RATE, 30, "the first pipe delivers")
            steady = max(map(counter, set(receiver.counts("/old").seen)))
            live.apply(*pipe_documents(name, receiver, "new"))
            applied = time.monotonic()
            eventually(lambda: receiver.counts("/new").arrivals, LIVE_SECONDS, "the new pipe delivers", 0.05)
            assert time.monotonic() - applied <= LIVE_SECONDS
            eventually(lambda: receiver.counts("/new").distinct > RATE, 30, "the new pipe goes on")
        # Events sent before the first pipe was in force matched nothing.
        ids, seen = since(steady, acked), receiver.counts("/old").seen
        eventually(lambda: ids <= seen, 30, "the old pipe has no gap")
        assert live.supervisor.pid("spark") == spark


def since(start: int, acked: Path) -> set[str]:
    """The acknowledged ids after one whose counter was `start`."""
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
            eventually(lambda: receiver.counts("/old").distinct > RATE, 30, "the pipe delivers")
            steady = max(map(counter, set(receiver.counts("/old").seen)))
            try:
                admin.delete_topics([Topic.CONFIG])[Topic.CONFIG].result(30)
                goal = receiver.counts("/old").distinct + 15 * RATE  # two real-time batches of route
                eventually(lambda: receiver.counts("/old").distinct >= goal, 60, "events flow without it")
            finally:
                eventually(lambda: Topic.CONFIG not in admin.list_topics(timeout=10).topics, 30, "it is gone")
                ensure_topics(live.bootstrap, topic_specs(live.side.partitions))
            live.apply(*documents(name, receiver, "old", "again"))
            eventually(lambda: receiver.counts("/again").arrivals, 30, "a new config topic is taken up")
        ids, seen = since(steady, acked), receiver.counts("/old").seen
        eventually(lambda: ids <= seen, 30, "nothing is missing")


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
        eventually(lambda: Topic.CONFIG not in admin.list_topics(timeout=10).topics, 30, "it is gone")
        ensure_topics(live.bootstrap, topic_specs(live.side.partitions))
        assert live.terminate() == 0
        live.up()
        assert live.post(f"integration-{name}", b'{"n": 1}', "application/json"), "the key is unknown"
        eventually(lambda: receiver.counts("/old").arrivals, 30, "the event arrives")
