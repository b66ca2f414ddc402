"""A document that this version cannot read delays its own tenant only."""

import logging

import pytest

from shared.contracts.document_items import DocumentKey
from shared.contracts.document_status import DocumentStatus
from shared.contracts.documents import Destination
from shared.dynamodb.document_table import DocumentTable
from shared.dynamodb.item_store import ItemStore
from tests.contract.provision.conftest import TABLE
from tests.contract.provision.later_version import rewrite
from tests.contract.provision.model_sides import Side
from tests.harness.document_changes import change_of

ANEW_MS = 60_000
AHEAD, BEHIND = "a", "b"
KEY = DocumentKey("destination", "d")


class World:
    """A table with a destination for each of two tenants, and a side that has published them."""

    def __init__(self, table: DocumentTable, endpoint: str) -> None:
        self.table, self.endpoint, self.now_ms = table, endpoint, 1_000
        items = ItemStore(TABLE, endpoint, DocumentStatus)
        self.side = Side("blue", table, items, lambda: self.now_ms, {})
        for tenant in (AHEAD, BEHIND):
            self.write(tenant, 1)
        self.side.look()

    def write(self, tenant: str, timeout: float) -> None:
        document = Destination(name="d", tenant=tenant, timeout_seconds=timeout)
        self.table.write(tenant, [change_of(document)], by="ann", at_ms=1)

    def write_later(self, tenant: str) -> None:
        """Let another side's later version write a document that this one cannot read."""
        self.write(tenant, 9)
        rewrite(self.endpoint, tenant, KEY)

    def write_anew(self, tenant: str, timeout: float) -> None:
        """Let the later version write a document that this one can read."""
        self.repair(tenant, 8)
        self.write(tenant, timeout)

    def repair(self, tenant: str, timeout: float) -> None:
        """Let a person repair the row by hand."""
        rewrite(self.endpoint, tenant, KEY, Destination(name="d", tenant=tenant, timeout_seconds=timeout))

    def timeouts(self) -> dict[str, float]:
        """Timeouts of the documents on the topic, by tenant."""
        found = (each.document for each in self.side.topic.view.entries.values())
        return {each.tenant: each.timeout_seconds for each in found if isinstance(each, Destination)}


@pytest.fixture
def world(table: DocumentTable, endpoint: str) -> World:
    return World(table, endpoint)


def test_what_others_write_is_published_and_its_tenants_entries_stay_also_after_a_restart(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    world.write_later(BEHIND)
    world.write(AHEAD, 2)
    with caplog.at_level(logging.ERROR):
        for _ in range(3):
            world.side.look()
    assert world.timeouts() == {AHEAD: 2, BEHIND: 1}
    assert [each.__dict__["row"] for each in caplog.records] == ["destination/d version 2 of tenant b"]

    world.side.crash()
    world.write(AHEAD, 3)
    for _ in range(3):
        world.side.look()
    assert world.timeouts() == {AHEAD: 3, BEHIND: 1}


def test_a_tenant_goes_on_once_its_unreadable_document_is_rewritten(world: World) -> None:
    world.write_later(BEHIND)
    world.side.look()
    world.write_anew(BEHIND, 4)
    world.side.look()
    assert world.timeouts() == {AHEAD: 1, BEHIND: 4}


@pytest.mark.parametrize("restarts", [False, True])
def test_its_tenant_goes_on_within_a_minute_after_it_was_repaired_by_hand(
    world: World, restarts: bool
) -> None:
    world.write_later(BEHIND)
    if restarts:
        world.side.crash()
    world.side.look()
    world.repair(BEHIND, 5)
    world.now_ms += ANEW_MS
    for _ in range(2):
        world.side.look()
    assert world.timeouts() == {AHEAD: 1, BEHIND: 5}


def test_an_emptied_topic_gets_what_can_be_read_and_does_not_say_that_it_is_complete(world: World) -> None:
    world.write_later(BEHIND)
    world.side.crash()
    world.side.lose()
    for _ in range(3):
        world.side.look()
    assert (world.timeouts(), world.side.topic.view.complete) == ({AHEAD: 1}, False)
    world.write_anew(BEHIND, 6)
    world.side.look()
    assert (world.timeouts(), world.side.topic.view.complete) == ({AHEAD: 1, BEHIND: 6}, True)
