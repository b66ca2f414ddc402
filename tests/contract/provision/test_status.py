"""The table shows how far a side is with each document, by its nodes' reports."""

from collections.abc import Iterator
from uuid import uuid4

import pytest

from shared.contracts.document_items import Change
from shared.contracts.document_status import DocumentStatus, State, document_and_side, status_partition
from shared.contracts.documents import LIVE_SECONDS, Destination, Document, Pipe, Source
from shared.contracts.side_weights import LOCAL
from shared.contracts.topics import Topic
from shared.dynamodb.document_table import DocumentTable
from shared.dynamodb.item_store import ItemStore
from shared.runtime.clock import wall_clock
from tests.contract.provision.conftest import TABLE, Start
from tests.harness.config_node import ConfigNode
from tests.harness.document_changes import change_of
from tests.harness.topics import Topics
from tests.harness.waiting import eventually

SILENT_SECONDS = 5.0
"""Seconds after which a node is forgotten; it reports its configuration every two seconds."""


@pytest.fixture
def tenant() -> str:
    return f"t{uuid4().hex[:8]}"


@pytest.fixture
def nodes(topics: str) -> Iterator[list[ConfigNode]]:
    found = [ConfigNode(topics, f"node-{number}", valid_seconds=SILENT_SECONDS) for number in range(2)]
    yield found
    for each in found:
        each.stop()


def test_a_new_source_is_opened_as_soon_as_its_pipes_are_in_force(
    start: Start, table: DocumentTable, topics: str, tenant: str, nodes: list[ConfigNode]
) -> None:
    eventually(start().leads)
    route = ConfigNode(topics, "query", "route")
    try:
        source = Source(name=tenant, tenant=tenant, write_keys=[f"sha256:{tenant}"])
        pipe = Pipe(name=tenant, tenant=tenant, source=tenant, destination=tenant)
        documents: list[Document] = [source, pipe, Destination(name=tenant, tenant=tenant)]
        table.write(tenant, [change_of(each) for each in documents], by="test", at_ms=wall_clock())
        eventually(lambda: f"{tenant}/source/{tenant}".encode() in route.table.view.entries)
        assert f"{tenant}/pipe/{tenant}".encode() in nodes[0].table.view.entries
        at_ms = {each.key(): each.timestamp()[1] for each in Topics(topics).all_of(Topic.CONFIG)}
        waited_ms = at_ms[f"{tenant}/source/{tenant}".encode()] - at_ms[f"{tenant}/pipe/{tenant}".encode()]
        assert 0 < waited_ms < LIVE_SECONDS * 1_000, "as long as without nodes"
    finally:
        route.stop()


def test_a_version_is_in_force_once_every_live_process_uses_it_and_a_silent_one_is_forgotten(
    start: Start, table: DocumentTable, endpoint: str, tenant: str, nodes: list[ConfigNode]
) -> None:
    start()
    items = ItemStore(TABLE, endpoint, DocumentStatus)

    def status() -> DocumentStatus | None:
        found = items.all(status_partition(tenant))
        return next((each for sort, each in found if document_and_side(sort)[1] == LOCAL), None)

    def reaches(version: int, state: State, reason: str = "") -> None:
        wanted = (version, state, reason)
        eventually(
            lambda: (found := status()) and (found.version, found.state, found.reason) == wanted,
            what=f"version {version} is {state} {reason}",
        )

    def write(change: Change) -> None:
        (written,) = table.write(tenant, [change], by="test", at_ms=wall_clock())
        reaches(written.version, State.IN_FORCE)

    write(change_of(Destination(name=tenant, tenant=tenant)))
    nodes[1].held = nodes[1].table.position
    later = change_of(Destination(name=tenant, tenant=tenant, timeout_seconds=7))
    table.write(tenant, [later], by="test", at_ms=wall_clock())
    reaches(2, State.PUBLISHED, "not in use yet at transmit")
    nodes[1].table.stop()  # killed: it reports no more
    reaches(2, State.IN_FORCE)
    write(Change(key=later.key, document=None))
