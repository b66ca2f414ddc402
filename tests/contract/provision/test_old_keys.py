"""A side's `config` topic with keys of older versions, in which a name belonged to one tenant."""

from collections.abc import Mapping, Sequence
from uuid import uuid4

from shared.contracts.documents import (
    CANARY,
    Catalogue,
    Destination,
    Document,
    Entry,
    Source,
    encode_entry,
    sealed,
)
from shared.contracts.publish_plan import document_key
from shared.contracts.topics import Topic
from shared.dynamodb.document_table import DocumentTable
from shared.kafka.config_topic import config_table
from tests.contract.provision.conftest import Start
from tests.harness.topics import Topics
from tests.harness.waiting import eventually

VERSION = 6


def old_key(document: Document) -> bytes:
    return document_key(document).partition(b"/")[2]


def entry(document: Document) -> bytes:
    return encode_entry(Entry(version=VERSION, document=document))


def found_by_a_node(catalogue: Catalogue, documents: Sequence[Document]) -> set[bytes]:
    """Which of the documents a node finds, under any key."""
    return {
        document_key(each)
        for each in documents
        for index in (catalogue.sources, catalogue.destinations)
        if index.get((each.tenant, each.name)) == each
    }


def newest(topics: Topics, keys: set[bytes]) -> Mapping[bytes, bytes | None]:
    """The newest value of each key ever written."""
    return {key: each.value() for each in topics.all_of(Topic.CONFIG) if (key := each.key() or b"") in keys}


def test_its_records_move_in_one_transaction_and_no_reader_lacks_a_document(
    start: Start, table: DocumentTable, topics: str
) -> None:
    tenant, topic = f"t{uuid4().hex[:8]}", Topics(topics)
    documents: list[Document] = [
        sealed(Source(name=tenant, tenant=tenant, write_keys=[f"key-of-{tenant}"])),
        Destination(name=tenant, tenant=tenant),
        Destination(name=f"canary-{tenant}", tenant=CANARY),
    ]
    old, present = (
        {old_key(each) for each in documents},
        {document_key(each): entry(each) for each in documents},
    )
    for each in documents:
        topic.put(Topic.CONFIG, entry(each), [], old_key(each))
    topic.flush()
    seen: list[set[bytes]] = []
    reader = config_table(topics, "test-reader", lambda new: seen.append(found_by_a_node(new, documents)))
    try:
        eventually(lambda: seen and seen[-1] == present.keys(), 60, "a node has read the topic")
        began = len(seen)
        eventually(start().leads)
        moved = {**present, **dict.fromkeys(old)}
        eventually(lambda: newest(topic, {*old, *present}) == moved, 60, "the records moved")
        eventually(lambda: not old & reader.view.entries.keys(), 60, "the node has read it")
        assert seen[began:] == [present.keys()] * len(seen[began:])
    finally:
        reader.stop()
    records = topic.all_of(Topic.CONFIG)
    mine = [each.offset() or 0 for each in records if each.key() in moved][len(documents) :]
    between = [each.offset() for each in records if mine[0] <= (each.offset() or 0) <= mine[-1]]
    assert between == list(range(mine[0], mine[-1] + 1)), "the end of a transaction would have an offset"

    topic.put(
        Topic.CONFIG,
        entry(Destination(name=tenant, tenant=tenant, timeout_seconds=9)),
        [],
        old_key(documents[1]),
    )
    topic.flush()
    eventually(
        lambda: newest(topic, old)[old_key(documents[1])] is None, 60, "it is undone: it is not the table's"
    )
    topic.put(Topic.CONFIG, None, [], document_key(documents[2]))
    topic.flush()
