"""After any writes, kills and losses each side shows a version of the catalogue, and reaches the last.

Each side has a double that computes everything at each look: both publish the same, look by look.
"""

from collections.abc import Mapping
from itertools import product
from typing import ClassVar
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from pipelines.control.provision.reconciliation import compared
from shared.contracts.document_items import Change, DocumentKey
from shared.contracts.document_status import DocumentStatus, document_and_side, status_partition
from shared.contracts.documents import (
    LIVE_SECONDS,
    Destination,
    Document,
    Entry,
    Pipe,
    Source,
    encode_entry,
    key_digest,
    kind_of,
)
from shared.contracts.publish_plan import Records
from shared.contracts.rollout_plan import Rollout
from shared.contracts.rollouts import RolloutState, as_published, at_step, state_key
from shared.dynamodb.document_table import DocumentTable
from shared.dynamodb.item_store import ItemStore
from tests.contract.provision.catalogue_model import CatalogueModel, Published, Wanted
from tests.contract.provision.model_sides import Double, Side

TENANT, OTHER = "acme", "zoo"
"""The modelled tenant, and another one with a pipe that is ramped up."""

SIDES = ("blue", "green")
sides = st.sampled_from(SIDES)


def source(*keys: str, name: str = "shop", tenant: str = TENANT) -> Source:
    write_keys = [key_digest(f"key-of-{tenant}-{name}-{each}") for each in keys]
    return Source(name=name, tenant=tenant, write_keys=write_keys)


def destination(name: str, timeout: float, tenant: str = TENANT) -> Destination:
    return Destination(name=name, tenant=tenant, timeout_seconds=timeout)


def pipe(sample: float, tenant: str = TENANT, rollout: Rollout | None = None) -> Pipe:
    return Pipe(name="orders", tenant=tenant, source="shop", destination="a", sample=sample, rollout=rollout)


documents = st.one_of(
    st.builds(destination, st.sampled_from("ab"), st.sampled_from([1.0, 2.0])),
    st.builds(pipe, st.sampled_from([10.0, 100.0])),
    st.sampled_from([source("1"), source("1", "2"), source("2")]),  # a rotation of its keys
)


def key_of(document: Document) -> DocumentKey:
    return DocumentKey(kind_of(document), document.name)


keys = st.builds(key_of, documents)
wishes = st.one_of(
    st.builds(lambda document: (key_of(document), document), documents), st.tuples(keys, st.none())
)


ROLLOUT = Rollout(steps=[5.0, 50.0, 100.0])
RAMPED = pipe(100.0, OTHER, ROLLOUT)
SOURCES = [source("1", name=name, tenant=OTHER) for name in ("shop", "app", "web")]
OTHERS: list[Document] = [
    *SOURCES,
    destination("a", 1.0, OTHER),
    destination("a", 2.0, OTHER),
    pipe(10.0, OTHER),
    RAMPED,
]
others = st.one_of(
    st.sampled_from(OTHERS).map(lambda document: (key_of(document), document)),
    st.tuples(st.sampled_from([key_of(each) for each in SOURCES]), st.none()),
)


class Model(RuleBasedStateMachine):
    """A table, two sides with nodes, and all actions on them, in any order."""

    endpoint: ClassVar[str]

    def __init__(self) -> None:
        super().__init__()
        name = f"documents-{uuid4().hex}"
        self.table = DocumentTable(name, self.endpoint)
        self.table.ensure()
        self.now_ms = 1_000_000
        self.model = CatalogueModel(TENANT)
        self.states: dict[str, RolloutState] = {}
        self.items = ItemStore(name, self.endpoint, DocumentStatus)
        world = (self.table, self.items, lambda: self.now_ms, self.states)
        self.sides = {side: (Side(side, *world), Double(double_of(side), *world)) for side in SIDES}

    @initialize(wanted=st.lists(documents, max_size=4, unique_by=key_of))
    def begin(self, wanted: list[Document]) -> None:
        if wanted:
            self._write([(key_of(each), each) for each in wanted])
        self._write_the_others([(key_of(RAMPED), RAMPED)])

    @rule(wanted=st.lists(wishes, min_size=1, max_size=4, unique_by=lambda wish: wish[0]))
    def write(self, wanted: list[Wanted]) -> None:
        self._write(wanted)

    def _write(self, wanted: list[Wanted]) -> None:
        changes = [Change(key=key, document=document) for key, document in wanted]
        self.table.write(TENANT, changes, by="ann", at_ms=self.now_ms)
        self.model.write(wanted)

    @rule(data=st.data())
    def revert(self, data: st.DataObject) -> None:
        written = sorted(key for key, versions in self.model.histories.items() if versions)
        if not written:
            return
        key = data.draw(st.sampled_from(written))
        version = data.draw(st.integers(1, len(self.model.histories[key])))
        stored = {each.version: each.document for each in self.table.history(TENANT, key)}
        assert [stored[at] for at in sorted(stored)] == self.model.histories[key]
        self._write([(key, stored[version])])

    @rule(
        wanted=st.lists(others, min_size=1, max_size=3, unique_by=lambda wish: wish[0]),
        then=st.lists(st.sampled_from(["look", "catch up"]), max_size=4),
    )
    def write_the_others(self, wanted: list[Wanted], then: list[str]) -> None:
        self._write_the_others(wanted)
        for side, what in product(SIDES, then):
            if what == "look":
                self.look(side)
            else:
                self.catch_up(side)

    def _write_the_others(self, wanted: list[Wanted]) -> None:
        changes = [Change(key=key, document=document) for key, document in wanted]
        self.table.write(OTHER, changes, by="ann", at_ms=self.now_ms)

    @rule(step=st.sampled_from([1, 2, 3]), side=sides)
    def ramp(self, step: int, side: str) -> None:
        self.states[state_key(OTHER, "orders")] = at_step(ROLLOUT, step, self.now_ms, revision=step)
        self.look(side)

    @rule(side=sides)
    def look(self, side: str) -> None:
        for one in self.sides[side]:
            one.look()

    @rule(side=sides, fault=st.sampled_from(["before", "after"]))
    def fail(self, side: str, fault: str) -> None:
        """Leave the next transaction unanswered; the brokers may have it all the same."""
        for one in self.sides[side]:
            one.topic.fault = fault
            one.look()

    @rule(side=sides)
    def crash(self, side: str) -> None:
        for one in self.sides[side]:
            one.crash()

    @rule(side=sides)
    def catch_up(self, side: str) -> None:
        for one in self.sides[side]:
            one.used = one.topic.end

    @rule(seconds=st.sampled_from([1, LIVE_SECONDS]))
    def wait(self, seconds: int) -> None:
        self.now_ms += seconds * 1_000

    @rule(side=sides)
    def lose_the_topic(self, side: str) -> None:
        for one in self.sides[side]:
            one.lose()

    @rule(side=sides, data=st.data())
    def alter_the_topic(self, side: str, data: st.DataObject) -> None:
        entries = self.sides[side][0].topic.view.entries
        if not entries:
            return
        key = data.draw(st.sampled_from(sorted(entries)))
        strange = {b"acme/destination/a": encode_entry(Entry(version=9, document=destination("a", 9.0)))}
        records: Records = data.draw(st.sampled_from([{key: None}, strange]))
        for one in self.sides[side]:
            one.alter(records)

    @invariant()
    def each_side_shows_a_version_of_the_catalogue(self) -> None:
        for side, _ in self.sides.values():
            if not side.altered:
                side.follower.shows(self.model, of_tenant(side.topic.view.entries))
            if side.topic.view.complete and side.became_complete:
                assert of_tenant(side.topic.view.entries) == self.model.newest, "complete without its sources"
                assert self._as_stored(side), "complete without what another tenant has"
                side.became_complete = False

    @invariant()
    def a_side_publishes_what_one_does_that_keeps_nothing(self) -> None:
        for side, double in self.sides.values():
            assert side.topic.published == double.topic.published

    def teardown(self) -> None:
        for each in SIDES:
            for one in self.sides[each]:
                self._settle(one)
            self.a_side_publishes_what_one_does_that_keeps_nothing()
            assert self._statuses(each) == self._statuses(double_of(each))

    def _settle(self, side: Side) -> None:
        now_ms = self.now_ms
        for _ in range(3):
            side.topic.fault = ""
            side.look()
            side.used = side.topic.end
            self.now_ms += LIVE_SECONDS * 1_000
        self.now_ms = now_ms
        assert of_tenant(side.topic.view.entries) == self.model.newest
        assert self._as_stored(side)
        assert side.topic.view.complete

    def _as_stored(self, side: Side) -> bool:
        """Whether a side shows both tenants' documents as stored, as far as rollouts are."""
        stored = [each for tenant in (TENANT, OTHER) for each in self.table.documents(tenant)]
        opened = [as_published(each, self.states) for each in stored]
        return compared(opened, side.topic.view.entries).empty

    def _statuses(self, side: str) -> Mapping[str, DocumentStatus]:
        found = [each for tenant in (TENANT, OTHER) for each in self.items.all(status_partition(tenant))]
        named = ((document_and_side(sort), item) for sort, item in found)
        return {document: item for (document, at), item in named if at == side}


def of_tenant(entries: Published) -> Published:
    return {key: each for key, each in entries.items() if each.document.tenant == TENANT}


def double_of(side: str) -> str:
    return f"{side}-double"


@pytest.mark.parametrize("examples", [4, pytest.param(60, marks=pytest.mark.proof)])
def test_each_side_shows_a_version_of_the_catalogue_whatever_happens_and_comes_to_the_newest(
    endpoint: str, examples: int
) -> None:
    class InMemory(Model):
        pass

    InMemory.endpoint = endpoint
    chosen = settings(
        max_examples=examples, stateful_step_count=12, deadline=None, suppress_health_check=list(HealthCheck)
    )
    run_state_machine_as_test(InMemory, settings=chosen)
