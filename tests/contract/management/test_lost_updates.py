"""Many writers on few documents, while the processes are killed and restarted."""

import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from http.client import HTTPException
from itertools import cycle, islice
from pathlib import Path
from uuid import uuid4

import pytest

from shared.contracts.completeness import COMPLETE_KEY
from shared.contracts.documents import decode_entry
from shared.contracts.heartbeats import NODES, Heartbeat, decode
from shared.contracts.topics import Topic
from shared.dynamodb.document_table import DocumentTable
from tests.contract.management.api_process import ANY, NEW, START_SECONDS, ApiProcess, destination
from tests.harness.config_node import ConfigNode
from tests.harness.provision_process import ProvisionProcess
from tests.harness.service_process import ServiceProcess
from tests.harness.topics import Topics
from tests.harness.waiting import eventually

Acknowledged = list[tuple[str, int, float]]
"""Name, version and value of writes."""

ENOUGH_SECONDS = START_SECONDS + 60
"""Seconds for the last start and the writes after it."""


@dataclass(frozen=True)
class Load:
    """Number of writers and seconds, and how often a process is killed meanwhile."""

    tenant: str
    writers: int
    documents: int
    seconds: float
    kills: int

    def name(self, number: int) -> str:
        """The document of a writer."""
        return f"{self.tenant}.{number % self.documents}"

    def path(self, name: str) -> str:
        return f"/v1/tenants/{self.tenant}/destinations/{name}"


def write_until(
    api: ApiProcess, load: Load, writer: int, stopping: threading.Event, acknowledged: Acknowledged
) -> None:
    """Change a document conditionally on the version just read, each time with a new value of this writer."""
    name, turn = load.name(writer), 0
    while not stopping.is_set():
        turn += 1
        value = 1 + writer / 100 + turn / 1_000_000
        try:
            seen = api.ask("GET", load.path(name)).headers.get("etag", "")
            answer = api.ask("PUT", load.path(name), destination(value), {"If-Match": seen} if seen else NEW)
        except (OSError, HTTPException):  # killed before or during its answer
            time.sleep(0.02)
            continue
        if answer.status in (200, 201):
            acknowledged.append((name, answer.json["version"], value))


def written_under_kills(api: ApiProcess, load: Load, victims: Sequence[ServiceProcess]) -> list[Acknowledged]:
    """Kill and restart the victims in turn; returns the acknowledged writes by writer.

    A busy machine takes longer to start them: the writers go on until enough was acknowledged.
    """
    written: list[Acknowledged] = [[] for _ in range(load.writers)]
    stopping = threading.Event()
    threads = [
        threading.Thread(target=write_until, args=(api, load, writer, stopping, written[writer]))
        for writer in range(load.writers)
    ]
    for thread in threads:
        thread.start()
    for victim in islice(cycle(victims), load.kills):
        time.sleep(load.seconds / (load.kills + 1))
        victim.kill()
        victim.restart()
    try:
        time.sleep(load.seconds / (load.kills + 1))
        eventually(lambda: sum(map(len, written)) > load.documents, ENOUGH_SECONDS, "writes are acknowledged")
    finally:
        stopping.set()
        for thread in threads:
            thread.join()
    return written


def history(api: ApiProcess, path: str) -> list[tuple[int, float]]:
    """Versions and values, oldest first."""
    found, cursor = [], ""
    while cursor is not None:
        page = api.ask("GET", f"{path}/history?limit=200{cursor and '&cursor=' + cursor}").json
        found += [(each["version"], each["document"]["timeout_seconds"]) for each in page["items"]]
        cursor = page["next"]
    return found[::-1]


def nothing_is_lost(api: ApiProcess, load: Load, written: list[Acknowledged]) -> int:
    """Compare acknowledged writes with the histories; returns the number of writes."""
    acknowledged = [each for one in written for each in one]
    assert len(acknowledged) > load.documents
    for name in map(load.name, range(load.documents)):
        versions = history(api, load.path(name))
        assert [version for version, _ in versions] == list(range(1, len(versions) + 1))
        mine = [(version, value) for at, version, value in acknowledged if at == name]
        assert len(set(mine)) == len(mine)
        assert set(mine) <= set(versions)
    for one in written:
        assert [version for _, version, _ in one] == sorted({version for _, version, _ in one})
    return len(acknowledged)


def test_every_acknowledged_write_is_in_the_history_once_and_in_order(
    dynamodb_local: str, tmp_path: Path
) -> None:
    api = ApiProcess(tmp_path, dynamodb_local)
    load = Load("acme", writers=16, documents=4, seconds=3.0, kills=2)
    try:
        written = written_under_kills(api, load, [api])
        eventually(api.ready, START_SECONDS)
        nothing_is_lost(api, load, written)
    finally:
        api.kill()


@pytest.fixture
def nodes(topics: str) -> Iterator[list[ConfigNode]]:
    found = [ConfigNode(topics, f"lost-updates-{node}", node) for node in NODES]
    yield found
    for each in found:
        each.stop()


@pytest.mark.proof
def test_fifty_writers_for_a_minute_leave_topic_and_nodes_at_what_the_table_holds(
    topics: str, dynamodb_local: str, tmp_path: Path, nodes: list[ConfigNode]
) -> None:
    load = Load(f"t{uuid4().hex[:8]}", writers=50, documents=10, seconds=60.0, kills=10)
    with ExitStack() as ending:
        api = ApiProcess(tmp_path, dynamodb_local)
        ending.callback(api.kill)
        log = tmp_path / "provision.log"
        provisioner = ProvisionProcess(topics, dynamodb_local, api.table, log)
        ending.callback(provisioner.kill)
        eventually(provisioner.leads, START_SECONDS, "the provisioner leads")
        written = written_under_kills(api, load, [provisioner, api])
        eventually(api.ready, START_SECONDS)
        count = nothing_is_lost(api, load, written)
        table = DocumentTable(api.table, dynamodb_local)
        wanted = {each.key.name: (each.version, each.document) for each in table.documents(load.tenant)}
        assert len(wanted) == load.documents
        for node in nodes:
            eventually(same_as(wanted, node, load.tenant), 60, "a node has what the table holds")
        offsets = versions_never_go_back(topics, load.tenant)
        eventually(lambda: all_use(topics, nodes, offsets), 60, "every node says it uses the last version", 1)
    sys.stdout.write(f"{count} acknowledged writes, {load.kills} kills, {offsets} records up to the last\n")


def same_as(wanted: Mapping[str, object], node: ConfigNode, tenant: str) -> Callable[[], bool]:
    def same() -> bool:
        mine = [each for each in node.table.view.entries.values() if each.document.tenant == tenant]
        return {each.document.name: (each.version, each.document) for each in mine} == wanted

    return same


def versions_never_go_back(bootstrap: str, tenant: str) -> int:
    """Check each document's records on the topic; returns the offset after the tenant's last one."""
    newest: dict[bytes, int] = {}
    end = 0
    for record in Topics(bootstrap).all_of(Topic.CONFIG):
        value, key, offset = record.value(), record.key(), record.offset()
        if value is None or key == COMPLETE_KEY:  # a deletion, or no document
            continue
        assert isinstance(key, bytes) and offset is not None
        entry = decode_entry(value)
        if entry.document.tenant == tenant:
            assert entry.version >= newest.get(key, 0)
            newest[key], end = entry.version, offset + 1
    return end


def all_use(bootstrap: str, nodes: Sequence[ConfigNode], offset: int) -> bool:
    """Whether each node's newest heartbeat has reached the offset."""
    beats: dict[str, Heartbeat] = {}
    for record in Topics(bootstrap).all_of(Topic.HEARTBEATS):
        value = record.value()
        if value is not None:
            beat = decode(value)
            beats[beat.instance] = beat
    mine = [beats.get(f"lost-updates-{node}") for node in NODES]
    assert len(mine) == len(nodes)
    return all(beat is not None and beat.config >= offset for beat in mine)


def test_without_a_condition_on_the_version_the_last_writer_wins(api: ApiProcess) -> None:
    path = "/v1/tenants/last/destinations/last.d"
    answers = [api.ask("PUT", path, destination(value), ANY) for value in (1, 2, 3)]
    assert [answer.json["version"] for answer in answers] == [1, 2, 3]
