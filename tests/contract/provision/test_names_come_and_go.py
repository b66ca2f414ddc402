"""As document names come and go, neither the catalogue nor the memory of it grows forever."""

import pytest
from confluent_kafka import Message

from pipelines.control.provision.key_usage import KeyUsageWriter
from pipelines.control.provision.status import Judged
from pipelines.control.provision.status_writer import StatusWriter
from shared.contracts.document_items import KEPT_MS, Change, DocumentKey, StoredDocument
from shared.contracts.document_status import DocumentStatus, State, status_partition
from shared.contracts.documents import Destination, topic_key
from shared.contracts.key_usage import STORED_MS, KeyUse, encode, partition
from shared.dynamodb.document_table import DocumentTable
from shared.dynamodb.item_store import ItemStore
from tests.contract.provision.conftest import TABLE
from tests.contract.provision.model_sides import Side
from tests.harness.document_changes import change_of

A_DAY = 6
STEP_MS = KEPT_MS // A_DAY
TENANT, SIDE = "acme", "blue"


class World:
    """A table, a side and a clock."""

    def __init__(self, table: DocumentTable, endpoint: str) -> None:
        self.table, self.now_ms = table, STEP_MS
        self.items = ItemStore(TABLE, endpoint, DocumentStatus)
        self.side = Side(SIDE, table, self.items, lambda: self.now_ms, {})

    def write(self, change: Change) -> StoredDocument:
        (written,) = self.table.write(TENANT, [change], by="ann", at_ms=self.now_ms)
        self.look()
        return written

    def look(self, *, used: bool = True) -> None:
        self.side.look()
        if used:
            self.side.used = self.side.topic.end
            self.side.look()

    def statuses(self) -> dict[str, DocumentStatus]:
        return dict(self.items.all(status_partition(TENANT)))


@pytest.fixture
def world(table: DocumentTable, endpoint: str) -> World:
    return World(table, endpoint)


def destination(name: str) -> Destination:
    return Destination(name=name, tenant=TENANT)


def deletion(name: str) -> Change:
    return Change(key=DocumentKey("destination", name), document=None)


def test_of_deleted_documents_a_days_are_kept_and_a_name_goes_on_where_it_was(world: World) -> None:
    world.write(change_of(destination("steady")))
    for number in range(3 * A_DAY):
        world.now_ms += STEP_MS
        world.write(change_of(destination(f"run-{number}")))
        world.write(deletion(f"run-{number}"))
        assert len(world.table.documents(TENANT)) <= A_DAY + 3
    assert len(world.statuses()) <= A_DAY + 3
    assert f"destination/run-{number}/{SIDE}" in world.statuses(), "whoever deleted it may still ask"
    key, again = DocumentKey("destination", "run-0"), world.write(change_of(destination("run-0")))
    assert again.version == 3
    assert [each.version for each in world.table.history(TENANT, key)] == [3, 2, 1]
    assert world.side.topic.view.entries[topic_key(TENANT, key.kind, key.name)].version == 3


def test_a_deletion_that_is_not_in_force_is_kept_however_old_it_is(world: World) -> None:
    world.write(change_of(destination("x")))
    world.table.write(TENANT, [deletion("x")], by="ann", at_ms=world.now_ms)
    for _ in range(3):
        world.now_ms += KEPT_MS
        world.look(used=False)
        assert [each.version for each in world.table.documents(TENANT)] == [2]
    assert world.statuses()[f"destination/x/{SIDE}"].state is State.PUBLISHED
    for _ in range(2):
        world.now_ms += STEP_MS
        world.look()
    assert world.table.documents(TENANT) == []


def test_what_was_said_of_documents_that_left_the_catalogue_is_forgotten(world: World) -> None:
    writer = StatusWriter(world.items, SIDE, lambda: world.now_ms)
    other = StatusWriter(world.items, "green", lambda: world.now_ms)
    for number in range(30):
        found = [said("steady"), said(f"run-{number}")]
        writer.write(found)
        other.write(found)
        assert len(writer) == 2
    assert len(world.statuses()) == 4
    StatusWriter(world.items, SIDE, lambda: world.now_ms).write([said("steady")])
    assert [*world.statuses()] == [
        f"destination/{each}" for each in ("run-29/green", "steady/blue", "steady/green")
    ]


def said(name: str) -> Judged:
    return Judged(tenant=TENANT, key=DocumentKey("destination", name), version=1, state=State.IN_FORCE)


def test_keys_of_sources_that_come_and_go_are_forgotten_ten_minutes_after_their_last_use(
    table: DocumentTable, endpoint: str
) -> None:
    now, items = [STORED_MS], ItemStore(TABLE, endpoint, int)
    writer = KeyUsageWriter(items, SIDE, lambda: now[0])
    for number in range(30):
        now[0] += STORED_MS // 2
        writer.take([record(KeyUse(TENANT, each, "key", now[0])) for each in ("steady", f"run-{number}")])
        writer.write()
        assert len(writer) <= 4
    assert len(items.all(partition(TENANT))) == 31
    assert items.get(partition(TENANT), f"steady/key/{SIDE}") in (now[0], now[0] - STORED_MS // 2)


def record(use: KeyUse) -> Message:
    return Message(value=encode([use]))
