"""observe reads long ledgers in steps, and ledgers whose topics were recreated."""

import json
from typing import Any

from msgspec.structs import replace

from scripts.local.kafka.cluster import Cluster
from shared.contracts.topics import Topic, topic_specs
from shared.kafka.admin import admin_client, ensure_topics
from tests.contract.observe.conftest import Start
from tests.contract.observe.minutes import ids, recent, settled
from tests.contract.observe.side import Side
from tests.harness.observe_process import ObserveProcess
from tests.harness.waiting import eventually, free_port

LONG = 15_000
"""Records of the ledger: more than are read before states are stored for the first time."""


def logged(observe: ObserveProcess, message: str) -> list[Any]:
    """The complete log lines with this message."""
    lines = observe.log.read_text().splitlines(keepends=True)
    found = (json.loads(line) for line in lines if line.startswith("{") and line.endswith("\n"))
    return [line for line in found if message in line["message"]]


def test_one_that_is_killed_while_it_catches_up_continues_where_it_was(topics: str, start: Start) -> None:
    minute, side = recent(), Side(topics)
    side.whole(ids(0, 5), minute, "p")
    side.read()
    again = replace(side.audit()[0], tallies=[])
    for _ in range(LONG):
        side.put(again)  # as after crashes of audit: changes nothing
    side.flush()
    observe = start(wait=False)
    eventually(lambda: any(line["offset"] for line in logged(observe, "stored as far as it is read")))
    observe.kill()
    other = start()
    (line,) = logged(other, "continuing from stored state")
    assert line["position"] > 0
    assert line["minutes"] == 1
    assert settled(other, minute)["delivered"] == 5


def test_until_its_first_look_the_meter_is_behind_and_shows_what_is_stored_of_the_day(
    topics: str, start: Start
) -> None:
    minute, side = recent(), Side(topics)
    side.whole(ids(0, 3), minute, "p")
    side.collected(["lost"], minute)
    side.read()
    side.audit()
    observe = start()
    eventually(lambda: observe.get("/v1/now?tenant=acme")["loss_percent"] == 25.0)
    nines = eventually(lambda: observe.get("/v1/now?tenant=acme")["nines"])
    assert observe.stop() == 0
    waiting = start(wait=False, bootstrap=f"127.0.0.1:{free_port()}")  # no brokers: it never looks
    eventually(lambda: logged(waiting, "not started yet"))
    now = waiting.get("/v1/now?tenant=acme")
    assert now["behind"]
    assert now["behind_seconds"] > 0
    assert (now["loss_percent"], now["nines"], now["at_ms"]) == (25.0, nines, 0)
    assert "hifi_observe_behind_seconds 0.0" not in waiting.get("/metrics")


def test_events_of_a_recreated_topic_are_counted_and_the_meter_is_behind_until_then(
    topics: str, brokers: Cluster, start: Start
) -> None:
    minute, side = recent(), Side(topics)
    side.whole(ids(0, 400), minute, "p")
    side.read()
    side.audit()
    observe = start(behind_seconds="2")
    assert settled(observe, minute)["total"] == 400
    recreate(topics, Topic.EVENTS, brokers.side.partitions)
    side.recreated(Topic.EVENTS)
    side.whole(ids(400, 410), minute, "p")
    side.flush()
    eventually(lambda: logged(observe, "a topic was recreated"))
    eventually(lambda: observe.get("/v1/now")["behind"])
    side.read()
    side.audit()
    eventually(lambda: not observe.get("/v1/now")["behind"])
    eventually(lambda: observe.card(minute)["delivered"] == 410)
    card = settled(observe, minute)
    assert (card["total"], card["lost"], card["doubled"], card["under_way"]) == (410, 0, 0, 0)


def recreate(bootstrap: str, topic: Topic, partitions: int) -> None:
    admin = admin_client(bootstrap)
    admin.delete_topics([topic.value])[topic.value].result()
    eventually(lambda: topic.value not in admin.list_topics(timeout=10).topics)
    ensure_topics(bootstrap, topic_specs(partitions))
