"""A suspended process does not overwrite the status that another one wrote for its side.

Over DynamoDB Local alone: statuses need no brokers.
"""

from collections.abc import Iterator

import pytest

from pipelines.control.provision.status import Judged
from pipelines.control.provision.status_writer import StatusWriter
from shared.contracts.document_items import DocumentKey
from shared.contracts.document_status import DocumentStatus, State, status_key, status_partition
from shared.dynamodb.document_table import DocumentTable
from shared.dynamodb.item_store import ItemStore
from tests.contract.provision.conftest import TABLE

SIDE = "blue"


class World:
    """A table and the processes of one side."""

    def __init__(self, endpoint: str) -> None:
        self.items = ItemStore(TABLE, endpoint, DocumentStatus)
        self.first, self.second = self.writer(), self.writer()

    def writer(self) -> StatusWriter:
        return StatusWriter(self.items, SIDE, lambda: 1_000)

    def statuses(self, tenant: str = "a") -> dict[str, tuple[State, int]]:
        found = self.items.all(status_partition(tenant))
        return {sort: (each.state, each.version) for sort, each in found}


@pytest.fixture
def world(table: DocumentTable, endpoint: str) -> World:
    return World(endpoint)


def said(state: State, version: int, name: str = "d", tenant: str = "a") -> Judged:
    return Judged(tenant=tenant, key=DocumentKey("destination", name), version=version, state=state)


def key(name: str = "d") -> str:
    return status_key(f"destination/{name}", SIDE)


def test_who_goes_on_after_another_one_wrote_does_not_write_over_it_and_learns_it(world: World) -> None:
    assert world.first.write([said(State.PENDING, 5)])
    assert world.second.write([said(State.IN_FORCE, 6)])
    assert not world.first.write([said(State.PUBLISHED, 5)])
    assert world.statuses() == {key(): (State.IN_FORCE, 6)}
    assert world.first.write([said(State.PUBLISHED, 6)]), "what was in force stays so"
    assert world.statuses() == {key(): (State.IN_FORCE, 6)}
    assert world.first.write([said(State.IN_FORCE, 7)])
    assert world.statuses() == {key(): (State.IN_FORCE, 7)}


def test_who_was_suspended_within_the_loop_ends_it_at_the_first_that_another_one_wrote(world: World) -> None:
    names = ("d", "e", "f")
    assert world.first.write([said(State.PENDING, 5, name) for name in names])

    def suspended() -> Iterator[Judged]:
        yield said(State.PUBLISHED, 5, "d")
        world.second.write([said(State.IN_FORCE, 6, name) for name in names])
        yield said(State.PUBLISHED, 5, "e")
        yield said(State.PUBLISHED, 5, "f")

    assert not world.first.write(suspended())
    assert world.statuses() == {key(name): (State.IN_FORCE, 6) for name in names}


def test_what_another_one_says_of_a_document_that_came_back_is_not_deleted(world: World) -> None:
    assert world.first.write([said(State.PENDING, 5), said(State.PENDING, 1, "e")])
    assert world.second.write([said(State.IN_FORCE, 6), said(State.PENDING, 1, "e")])
    assert not world.first.write([said(State.PENDING, 1, "e")])
    assert world.statuses() == {key(): (State.IN_FORCE, 6), key("e"): (State.PENDING, 1)}


def test_other_tenants_statuses_are_not_read_again(world: World) -> None:
    both = [said(State.PENDING, 5), said(State.PENDING, 5, tenant="z")]
    assert world.first.write(both)
    assert world.second.write([said(State.IN_FORCE, 6), both[1]])
    assert not world.first.write([said(State.PUBLISHED, 5), both[1]])
    assert len(world.first) == 1


@pytest.mark.parametrize("changes", [True, False])
def test_what_an_earlier_version_wrote_is_written_over_or_deleted(world: World, changes: bool) -> None:
    former = DocumentStatus(state=State.PENDING, version=1, since_ms=1)
    for name in ("d", "e"):
        world.items.put(status_partition("a"), key(name), former)
    assert world.first.write([said(State.PENDING, 1), said(State.PENDING, 1, "e")])
    left = [said(State.IN_FORCE, 2)] if changes else []
    assert world.first.write([*left, said(State.IN_FORCE, 1, "e")])
    assert world.statuses() == {key("e"): (State.IN_FORCE, 1)} | (
        {key(): (State.IN_FORCE, 2)} if changes else {}
    )
    world.items.put(status_partition("a"), key("e"), former)
    assert not world.first.write([*left, said(State.IN_FORCE, 2, "e")])
    assert world.first.write([*left, said(State.IN_FORCE, 2, "e")])
    assert world.statuses()[key("e")] == (State.IN_FORCE, 2)


def test_what_only_a_later_version_can_read_is_written_over_on_its_own_side_alone(
    world: World, endpoint: str
) -> None:
    later = ItemStore(TABLE, endpoint, dict)
    other = status_key("destination/d", "green")
    for sort in (key(), other):
        later.put(status_partition("a"), sort, {"state": "half in force", "version": 1, "since_ms": 1})
    assert world.first.write([said(State.IN_FORCE, 1)])
    found = dict(later.all(status_partition("a")))
    assert (found[key()]["state"], found[other]["state"]) == ("in force", "half in force")
