"""Whatever is written, killed or lost, each side shows a version of the catalogue, and comes to the last."""

from collections.abc import Callable
from typing import ClassVar, cast
from uuid import uuid4

from confluent_kafka import KafkaError, KafkaException
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from pipelines.control.provision.live_nodes import LiveNodes
from pipelines.control.provision.metrics import ProvisionMetrics
from pipelines.control.provision.provisioner import Provisioner
from pipelines.control.provision.status_writer import StatusWriter
from shared.contracts.completeness import COMPLETE_KEY
from shared.contracts.document_items import Change, DocumentKey
from shared.contracts.document_status import DocumentStatus
from shared.contracts.documents import (
    LIVE_SECONDS,
    Catalogue,
    Destination,
    Document,
    Entry,
    Pipe,
    Source,
    decode_entry,
    encode_entry,
    key_digest,
    kind_of,
)
from shared.contracts.heartbeats import NODES, Usage
from shared.contracts.publish_plan import Records
from shared.dynamodb.document_table import DocumentTable
from shared.dynamodb.item_store import ItemStore
from shared.kafka.global_table import GlobalTable
from tests.contract.provision.catalogue_model import CatalogueModel, Follower, Wanted

TENANT = "acme"
SIDES = ("blue", "green")
sides = st.sampled_from(SIDES)


def source(*keys: str) -> Source:
    write_keys = [key_digest(f"key-of-shop-{each}") for each in keys]
    return Source(name="shop", tenant=TENANT, write_keys=write_keys)


def destination(name: str, timeout: float) -> Destination:
    return Destination(name=name, tenant=TENANT, timeout_seconds=timeout)


def pipe(sample: float) -> Pipe:
    return Pipe(name="orders", tenant=TENANT, source="shop", destination="a", sample=sample)


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


class MemoryTopic:
    """A `config` topic as a provisioner reads and writes it; a write may fail, with or without its effect."""

    def __init__(self) -> None:
        self.view = Catalogue()
        self._offsets: dict[bytes, int] = {}
        self.end = 0
        self.fault = ""

    def offset(self, key: bytes) -> int:
        return self._offsets.get(key, -1)

    def publish(self, records: Records) -> None:
        fault, self.fault = self.fault, ""
        if fault != "before":
            self.put(records)
        if fault:
            raise KafkaException(KafkaError(KafkaError._TIMED_OUT))

    def put(self, records: Records) -> None:
        entries, complete = dict(self.view.entries), self.view.complete or COMPLETE_KEY in records
        for key, value in records.items():
            self._offsets[key], self.end = self.end, self.end + 1
            entries.pop(key, None)
            if value is not None and key != COMPLETE_KEY:
                entries[key] = decode_entry(value)
        self.view = Catalogue(entries, complete=complete)

    def lose(self) -> None:
        self.view, self._offsets, self.end = Catalogue(), {}, 0


class Side:
    """A side with its topic, its nodes and the provisioner that leads, if one does."""

    def __init__(self, name: str, table: str, endpoint: str, clock: Callable[[], int]) -> None:
        self.topic, self.follower, self.used = MemoryTopic(), Follower(), 0
        self.altered = False
        """Whether its topic is not as its provisioner left it."""

        self.became_complete = False
        self._leader: Provisioner | None = None
        self._start: Callable[[], Provisioner] = lambda: Provisioner(
            side=name,
            table=DocumentTable(table, endpoint),
            topic=cast(GlobalTable[Catalogue], self.topic),
            publish=self.topic.publish,
            statuses=StatusWriter(ItemStore(table, endpoint, DocumentStatus), name, clock),
            nodes=cast(LiveNodes, self),
            rollouts=dict,
            ramps=lambda _: None,
            metrics=ProvisionMetrics(),
            clock=clock,
        )

    def usage(self, _now_ms: int) -> Usage:
        return dict.fromkeys(NODES, self.used)

    def is_altered(self) -> None:
        """Nothing is expected of it until its provisioner has looked; a source that is gone may wait anew."""
        self.follower, self.used, self.altered = Follower(at=self.follower.at), 0, True

    def crash(self) -> None:
        self._leader = None

    def look(self) -> None:
        self._leader = self._leader or self._start()
        was_complete = self.topic.view.complete
        try:
            self._leader.look()
        except KafkaException:  # the process begins anew
            self.crash()
            return
        self.altered = False
        self.became_complete = self.topic.view.complete and not was_complete


class Model(RuleBasedStateMachine):
    """A table, two sides with nodes, and everything that can be done to them, in any order."""

    endpoint: ClassVar[str]

    def __init__(self) -> None:
        super().__init__()
        name = f"documents-{uuid4().hex}"
        self.table = DocumentTable(name, self.endpoint)
        self.table.ensure()
        self.now_ms = 1_000_000
        self.model = CatalogueModel(TENANT)
        self.sides = {side: Side(side, name, self.endpoint, lambda: self.now_ms) for side in SIDES}

    @initialize(wanted=st.lists(documents, max_size=4, unique_by=key_of))
    def begin(self, wanted: list[Document]) -> None:
        if wanted:
            self._write([(key_of(each), each) for each in wanted])

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

    @rule(side=sides)
    def look(self, side: str) -> None:
        self.sides[side].look()

    @rule(side=sides, fault=st.sampled_from(["before", "after"]))
    def fail(self, side: str, fault: str) -> None:
        """The brokers do not answer to the next transaction; they may have it all the same."""
        self.sides[side].topic.fault = fault
        self.sides[side].look()

    @rule(side=sides)
    def crash(self, side: str) -> None:
        self.sides[side].crash()

    @rule(side=sides)
    def catch_up(self, side: str) -> None:
        self.sides[side].used = self.sides[side].topic.end

    @rule(seconds=st.sampled_from([1, LIVE_SECONDS]))
    def wait(self, seconds: int) -> None:
        self.now_ms += seconds * 1_000

    @rule(side=sides)
    def lose_the_topic(self, side: str) -> None:
        self.sides[side].topic.lose()
        self.sides[side].is_altered()

    @rule(side=sides, data=st.data())
    def alter_the_topic(self, side: str, data: st.DataObject) -> None:
        one = self.sides[side]
        if not one.topic.view.entries:
            return
        key = data.draw(st.sampled_from(sorted(one.topic.view.entries)))
        strange = {b"acme/destination/a": encode_entry(Entry(version=9, document=destination("a", 9.0)))}
        one.topic.put(data.draw(st.sampled_from([{key: None}, strange])))
        one.is_altered()

    @invariant()
    def each_side_shows_a_version_of_the_catalogue(self) -> None:
        for side in self.sides.values():
            if not side.altered:
                side.follower.shows(self.model, side.topic.view.entries)
            if side.topic.view.complete and side.became_complete:
                assert not side.follower.waiting, "complete without its sources"
                side.became_complete = False

    def teardown(self) -> None:
        for side in self.sides.values():
            for _ in range(3):
                side.topic.fault = ""
                side.look()
                side.used = side.topic.end
                self.now_ms += LIVE_SECONDS * 1_000
            assert side.topic.view.entries == self.model.newest
            assert side.topic.view.complete


def test_each_side_shows_a_version_of_the_catalogue_whatever_happens_and_comes_to_the_newest(
    endpoint: str,
) -> None:
    class InMemory(Model):
        pass

    InMemory.endpoint = endpoint
    chosen = settings(
        max_examples=12, stateful_step_count=12, deadline=None, suppress_health_check=list(HealthCheck)
    )
    run_state_machine_as_test(InMemory, settings=chosen)
