"""The provisioner between a table and a `config` topic: customers' writes are published soon, and stay."""

import signal
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import ClassVar
from uuid import uuid4

import pytest

from pipelines.control.provision.publisher import FencedError, FencedPublisher
from shared.contracts.document_items import Change, DocumentKey
from shared.contracts.documents import (
    CANARY,
    LIVE_SECONDS,
    Destination,
    Document,
    Entry,
    Pipe,
    Source,
    decode_entry,
    encode_entry,
    sealed,
)
from shared.contracts.publish_plan import document_key
from shared.contracts.side_weights import LOCAL
from shared.contracts.topics import Topic
from shared.dynamodb.document_table import DocumentTable
from shared.kafka.config_topic import config_table
from tests.contract.provision.conftest import TABLE, Start
from tests.harness.config_node import every_node
from tests.harness.document_changes import change_of
from tests.harness.provision_process import START_SECONDS, ProvisionProcess
from tests.harness.topics import Topics
from tests.harness.waiting import eventually, free_port

_LOOKS_SECONDS = 1.0
"""The provisioner reads the table five times a second: it would have written by then."""

HASTY_SECONDS = 3
SOON = 60.0
"""Seconds in which a busy machine does two seconds of an idle one's work."""


class HastyProvision(ProvisionProcess):
    """Treats a document as known HASTY_SECONDS after it was published, unless a node reports sooner."""

    times: ClassVar[Mapping[str, float]] = {
        "pipelines.control.provision.provisioner.LIVE_MS": HASTY_SECONDS * 1_000,
        "pipelines.control.provision.reconciliation.LIVE_MS": HASTY_SECONDS * 1_000,
    }


class View:
    """A node's view of the topic."""

    def __init__(self, bootstrap: str, tenant: str) -> None:
        self.tenant = tenant
        self.topics = Topics(bootstrap)
        self.table = config_table(bootstrap, "test-view")
        assert self.table.wait(120)

    def entries(self) -> dict[str, Entry]:
        """Entries of the test's tenant, by key."""
        entries = self.table.view.entries.items()
        return {key.decode(): entry for key, entry in entries if entry.document.tenant == self.tenant}

    def values(self, key: str) -> list[Entry | None]:
        """Every record of a key in order; a table in memory may skip one that another follows soon."""
        records = [each for each in self.topics.all_of(Topic.CONFIG) if each.key() == key.encode()]
        return [None if (value := each.value()) is None else decode_entry(value) for each in records]

    def put(self, document: Document, version: int = 1) -> None:
        """Publish a document past the table."""
        entry = Entry(version=version, document=document)
        self.topics.put(Topic.CONFIG, encode_entry(entry), [], document_key(document))
        self.topics.flush()

    def remove(self, key: str) -> None:
        self.topics.put(Topic.CONFIG, None, [], key.encode())
        self.topics.flush()


@pytest.fixture
def tenant() -> str:
    """A tenant of the test's own: the topic keeps its documents from test to test."""
    return f"t{uuid4().hex[:8]}"


@pytest.fixture
def view(topics: str, tenant: str) -> Iterator[View]:
    """Requested before `start`: a provisioner that still ran would restore the keys that this removes."""
    made = View(topics, tenant)
    yield made
    for key in made.entries():
        made.remove(key)
    made.table.stop()


def destination(tenant: str, timeout: float = 5.0) -> Destination:
    return Destination(name=tenant, tenant=tenant, timeout_seconds=timeout)


def put(table: DocumentTable, *documents: Document) -> None:
    changes = [change_of(sealed(each)) for each in documents]
    table.write(documents[0].tenant, changes, by="ann", at_ms=1)


def test_a_write_is_published_and_a_deletion_too(
    view: View, start: Start, table: DocumentTable, tenant: str
) -> None:
    eventually(start().leads)
    key = f"{tenant}/destination/{tenant}"
    put(table, destination(tenant))
    eventually(lambda: view.entries() == {key: Entry(version=1, document=destination(tenant))}, SOON)
    put(table, destination(tenant, 7))
    eventually(lambda: view.entries() == {key: Entry(version=2, document=destination(tenant, 7))}, SOON)
    deletion = Change(key=DocumentKey("destination", tenant), document=None)
    table.write(tenant, [deletion], by="ann", at_ms=1)
    eventually(lambda: view.entries() == {}, SOON)


def test_what_is_altered_or_deleted_on_the_topic_comes_back(
    view: View, start: Start, table: DocumentTable, tenant: str
) -> None:
    key, wanted = f"{tenant}/destination/{tenant}", Entry(version=1, document=destination(tenant))
    altered = Entry(version=4, document=destination(tenant, 9))
    put(table, destination(tenant))
    eventually(start().leads)
    eventually(lambda: view.values(key) == [wanted], SOON)
    view.put(destination(tenant, 9), version=4)
    eventually(lambda: view.values(key) == [wanted, altered, wanted], SOON)
    view.remove(key)
    eventually(lambda: view.values(key) == [wanted, altered, wanted, None, wanted], SOON)
    eventually(lambda: view.entries() == {key: wanted}, SOON)


def test_a_side_whose_documents_are_older_than_the_table_is_taken_over_without_a_change(
    view: View, start: Start, table: DocumentTable, tenant: str, topics: str
) -> None:
    view.put(destination(tenant), version=6)
    eventually(view.entries)
    before = len(view.topics.all_of(Topic.CONFIG))
    eventually(start().leads)
    stored = eventually(lambda: table.get(tenant, DocumentKey("destination", tenant)), SOON)
    assert (stored.version, stored.document) == (6, destination(tenant))
    time.sleep(_LOOKS_SECONDS)
    assert len(view.topics.all_of(Topic.CONFIG)) == before


def test_a_second_side_with_documents_of_its_own_loses_none_of_them(
    view: View, start: Start, table: DocumentTable, tenant: str
) -> None:
    """Documents that another side wrote to the table first do not justify deleting this side's."""
    other = Destination(name=f"{tenant}-other", tenant=tenant)
    table.write(tenant, [change_of(other)], by="ann", at_ms=1)
    view.put(destination(tenant), version=6)
    eventually(view.entries)
    start()
    eventually(lambda: len(view.entries()) == 2, SOON)
    assert view.entries()[f"{tenant}/destination/{tenant}"] == Entry(version=6, document=destination(tenant))
    stored = table.get(tenant, DocumentKey("destination", tenant))
    assert stored is not None
    assert stored.version == 6


def test_a_table_that_was_lost_leaves_the_topic_as_it_is(
    view: View, start: Start, table: DocumentTable, tenant: str
) -> None:
    view.put(destination(tenant))
    eventually(view.entries)
    table.adopt(LOCAL, [])
    eventually(start().leads)
    time.sleep(_LOOKS_SECONDS)
    assert list(view.entries()) == [f"{tenant}/destination/{tenant}"]


def test_hifis_own_documents_are_left_alone(
    view: View, start: Start, table: DocumentTable, tenant: str
) -> None:
    own = Destination(name=f"canary-{tenant}", tenant=CANARY)
    view.put(own)
    put(table, destination(tenant))
    eventually(start().leads)
    eventually(view.entries, SOON)
    time.sleep(_LOOKS_SECONDS)
    assert view.table.view.destinations[CANARY, own.name] == own
    assert table.get(CANARY, DocumentKey("destination", own.name)) is None
    view.remove(f"{CANARY}/destination/{own.name}")


@pytest.mark.parametrize(
    ("kind", "seconds"),
    [
        pytest.param(HastyProvision, HASTY_SECONDS, id="hasty"),
        pytest.param(ProvisionProcess, LIVE_SECONDS, id="shipped", marks=pytest.mark.proof),
    ],
)
def test_a_new_source_is_opened_after_its_pipe_is_in_force(
    view: View,
    start: Start,
    table: DocumentTable,
    tenant: str,
    *,
    kind: type[ProvisionProcess],
    seconds: float,
) -> None:
    eventually(start(kind).leads)
    began = time.monotonic()
    put(
        table,
        Source(name=tenant, tenant=tenant, write_keys=[f"key-of-{tenant}"]),
        destination(tenant),
        Pipe(name=tenant, tenant=tenant, source=tenant, destination=tenant),
    )
    eventually(lambda: f"{tenant}/source/{tenant}" in view.entries(), LIVE_SECONDS + SOON)
    assert time.monotonic() - began >= seconds
    order = [(each.key() or b"").decode() for each in view.topics.all_of(Topic.CONFIG)]
    assert order.index(f"{tenant}/pipe/{tenant}") < order.index(f"{tenant}/source/{tenant}")


def test_a_topic_that_was_emptied_has_everything_again_before_the_provisioner_is_ready(
    view: View, start: Start, table: DocumentTable, tenant: str, topics: str
) -> None:
    """Also while it waits for a killed one's lease: collect would answer 401 to every customer."""
    provisioner = start()
    with every_node(topics):
        put(
            table,
            Source(name=tenant, tenant=tenant, write_keys=[f"key-of-{tenant}"]),
            destination(tenant),
            Pipe(name=tenant, tenant=tenant, source=tenant, destination=tenant),
        )
        eventually(lambda: len(view.entries()) == 3, LIVE_SECONDS + SOON)
        keys = set(view.entries())
        provisioner.kill()
        for key in keys:
            view.remove(key)
        eventually(lambda: not view.entries(), SOON)
        provisioner.restart()
        eventually(provisioner.ready, START_SECONDS, "the provisioner is ready")
        assert keys <= {(each.key() or b"").decode() for each in view.topics.all_of(Topic.CONFIG)[-3:]}


def test_one_of_two_leads_and_when_it_is_killed_the_other_does(
    view: View, start: Start, table: DocumentTable, tenant: str
) -> None:
    first = start()
    eventually(first.leads)
    second = start()
    eventually(lambda: first.leads() != second.leads(), SOON, "one leads")
    first.kill()
    put(table, destination(tenant))
    eventually(view.entries, SOON, "published by the second")
    eventually(second.leads, SOON, "it says so at the end of its look")


def test_a_leader_that_was_suspended_writes_nothing_stale_when_it_goes_on(
    view: View, start: Start, table: DocumentTable, tenant: str
) -> None:
    put(table, destination(tenant, 1))
    first = start()
    eventually(view.entries, SOON)
    second = start()
    first.process.send_signal(signal.SIGSTOP)
    eventually(second.leads, SOON)
    put(table, destination(tenant, 2))
    newest = {f"{tenant}/destination/{tenant}": Entry(version=2, document=destination(tenant, 2))}
    eventually(lambda: view.entries() == newest, SOON)
    written = len(view.topics.all_of(Topic.CONFIG))
    first.process.send_signal(signal.SIGCONT)
    eventually(lambda: not first.leads(), SOON)
    time.sleep(_LOOKS_SECONDS)
    assert len(view.topics.all_of(Topic.CONFIG)) == written
    assert view.entries() == newest


def test_who_takes_over_keeps_the_former_leader_from_writing(topics: str, view: View, tenant: str) -> None:
    side = f"test-{tenant}"
    former = FencedPublisher(topics, side)
    former.publish(record_of(destination(tenant, 1)))
    FencedPublisher(topics, side).publish(record_of(destination(tenant, 2)))
    with pytest.raises(FencedError):
        former.publish(record_of(destination(tenant, 3)))
    eventually(lambda: [each.document for each in view.entries().values()] == [destination(tenant, 2)], SOON)


def record_of(document: Document) -> dict[bytes, bytes]:
    entry = Entry(version=1, document=document)
    return {document_key(document): encode_entry(entry)}


def test_without_its_table_it_is_not_ready_and_leaves_the_topic_as_it_is(
    topics: str, view: View, tenant: str, tmp_path: Path
) -> None:
    view.put(destination(tenant))
    eventually(view.entries)
    lonely = ProvisionProcess(topics, f"http://127.0.0.1:{free_port()}", TABLE, tmp_path / "log")
    try:
        eventually(lambda: "cannot be read or written" in lonely.log.read_text())
        assert not lonely.ready()
        wanted = Entry(version=1, document=destination(tenant))
        assert view.entries() == {f"{tenant}/destination/{tenant}": wanted}
    finally:
        lonely.kill()
