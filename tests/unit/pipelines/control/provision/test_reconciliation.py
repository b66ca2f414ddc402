"""The provisioner's publications, decided from the wanted and the existing records."""

from collections.abc import Mapping
from itertools import islice
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.control.provision.reconciliation import (
    Entries,
    Force,
    adopted,
    completes,
    difference,
    due,
    force,
    is_lost,
    is_whole,
    wanted,
)
from shared.contracts.document_items import DocumentKey, StoredDocument
from shared.contracts.documents import (
    CANARY,
    LIVE_SECONDS,
    Destination,
    Document,
    Entry,
    Pipe,
    Source,
    decode_entry,
    kind_of,
)
from shared.contracts.publish_plan import Records, document_key

LIVE_MS = LIVE_SECONDS * 1_000
TENANTS = ("acme", "zoo", CANARY)


def source(name: str, tenant: str = "acme", limit: float | None = None) -> Source:
    return Source(name=name, tenant=tenant, write_keys=["sha256:0"], rate_limit=limit)


def destination(name: str, tenant: str = "acme", timeout: float = 5.0) -> Destination:
    return Destination(name=name, tenant=tenant, timeout_seconds=timeout)


def pipe(match: dict[str, Any]) -> Pipe:
    return Pipe(name="p", tenant="acme", source="s", destination="d", match=match)


def entries(*documents: Document, version: int = 1) -> Entries:
    return {document_key(d): Entry(version=version, document=d) for d in documents}


def stored(document: Document, at_ms: int = 1, version: int = 1) -> StoredDocument:
    return StoredDocument(
        tenant=document.tenant,
        key=DocumentKey(kind_of(document), document.name),
        version=version,
        document=document,
        by="ann",
        at_ms=at_ms,
    )


def applied(published: Entries, records: Records) -> Entries:
    """The topic after these records."""
    after = dict(published)
    for key, value in records.items():
        if value is None:
            del after[key]
        else:
            after[key] = decode_entry(value)
    return after


def test_true_in_place_of_1_is_a_change_for_a_pattern_and_so_for_the_topic() -> None:
    one, true = (pipe(match={"data": {"active": [value]}}) for value in (1, True))
    assert one == true  # for Python
    assert set(difference(entries(true), entries(one)).changed) == set(entries(true))
    assert difference(entries(true), entries(pipe(match={"data": {"active": [True]}}))).empty


documents = st.builds(
    lambda make, name, tenant, number: make(name, tenant, number),
    st.sampled_from([source, destination]),
    st.sampled_from("abc"),
    st.sampled_from(TENANTS),
    st.sampled_from([1.0, 2.0]),
)
topics = st.builds(lambda found: entries(*found), st.lists(documents, max_size=5))


@given(st.lists(documents, max_size=6, unique_by=lambda d: (d.tenant, kind_of(d), d.name)), topics)
def test_after_two_rounds_the_topic_holds_what_is_wanted_and_hifis_own(
    found: list[Document], published: Entries
) -> None:
    want = wanted([stored(each) for each in found], published)
    now, seen = published, dict.fromkeys(TENANTS, 0)
    for now_ms in (0, LIVE_MS):
        now = applied(now, due(difference(want, now), silent, seen, 0, now_ms))
    own = [entry.document for entry in published.values() if entry.document.tenant == CANARY]
    assert now == entries(*(each for each in found if each.tenant != CANARY), *own)
    assert difference(want, now).empty


@given(st.lists(documents, max_size=6, unique_by=lambda d: (d.tenant, kind_of(d), d.name)), topics)
def test_records_complete_the_topic_if_after_them_nothing_that_is_wanted_lacks(
    found: list[Document], published: Entries
) -> None:
    want, now, seen = (
        wanted([stored(each) for each in found], published),
        published,
        dict.fromkeys(TENANTS, 0),
    )
    for now_ms in (0, LIVE_MS):
        lacking = difference(want, now)
        records = due(lacking, silent, seen, 0, now_ms)
        now = applied(now, records)
        assert completes(lacking, records) == (now == want)
    assert now == want


def test_only_a_table_that_was_never_written_to_may_not_empty_a_topic_with_documents_of_customers() -> None:
    customers, own = entries(source("a")), entries(source("a", CANARY))
    assert is_lost(0, {**customers, **own})
    assert not is_lost(0, own)
    assert not is_lost(0, {})
    assert not is_lost(1, customers)


def old_keys(published: Entries) -> Entries:
    """The same entries under the keys of versions in which a name belonged to one tenant."""
    return {key.partition(b"/")[2]: entry for key, entry in published.items()}


@given(st.lists(documents, max_size=6, unique_by=lambda d: (kind_of(d), d.name)))
def test_a_topic_with_keys_of_old_moves_at_once_and_at_no_record_lacks_a_document(
    found: list[Document],
) -> None:
    published = old_keys(entries(*found))
    want = wanted([stored(each) for each in found if each.tenant != CANARY], published)
    records = due(difference(want, published), silent, {}, 0, 0)
    for taken in range(len(records) + 1):
        now = applied(published, dict(islice(records.items(), taken)))
        assert entries(*(entry.document for entry in now.values())) == entries(*found)
    assert now == entries(*found)


def test_what_was_written_since_a_document_moved_is_not_overwritten_by_its_old_record() -> None:
    newest = entries(destination("a", CANARY, 7))
    published = {**newest, **old_keys(entries(destination("a", CANARY)))}
    found = difference(wanted([], published), published)
    assert (found.changed, found.opened, list(found.gone)) == ({}, {}, [b"destination/a"])


def test_a_source_that_is_there_already_changes_at_once() -> None:
    found = difference(entries(source("a", limit=9.0), version=2), entries(source("a")))
    assert (list(found.changed), found.opened) == ([b"acme/source/a"], {})


def silent(_: str) -> Force:
    """Without reports from nodes."""
    return Force.UNKNOWN


def waiting(changed_ms: Mapping[str, int], now_ms: int) -> bool:
    return not due(difference(entries(source("a")), {}), silent, changed_ms, -LIVE_MS, now_ms)


def test_a_new_source_is_opened_as_soon_as_the_nodes_say_that_its_tenants_pipes_are_in_force() -> None:
    found = difference(entries(source("a", "acme")), {})
    assert due(found, {"acme": Force.IN_FORCE}.__getitem__, {"acme": 100}, 0, 101)
    assert not due(found, silent, {"acme": 100}, 0, 101)


def test_a_new_source_is_not_opened_while_a_node_says_that_it_is_behind_however_long() -> None:
    found = difference(entries(source("a", "acme")), {})
    assert not due(found, lambda _: Force.BEHIND, {"acme": 100}, 0, 100 + 60 * LIVE_MS)


@pytest.mark.parametrize(
    ("used", "expected"),
    [
        ({"route": 8, "transmit": 8}, Force.IN_FORCE),
        ({"route": 7, "transmit": 8}, Force.BEHIND),
        ({"transmit": 7}, Force.BEHIND),
        ({"transmit": 8}, Force.UNKNOWN),
        ({}, Force.UNKNOWN),
    ],
)
def test_a_node_that_says_that_it_is_behind_outweighs_one_that_says_nothing(
    used: Mapping[str, int], expected: Force
) -> None:
    assert force(7, used) is expected


def test_a_new_source_waits_for_what_its_own_tenant_changed_and_for_nobody_else() -> None:
    assert not waiting({}, 0)
    assert not waiting({"zoo": 100}, 101)
    assert waiting({"acme": 100}, 99 + LIVE_MS)
    assert not waiting({"acme": 100}, 100 + LIVE_MS)


def test_what_is_published_of_a_tenant_that_cannot_be_read_stays_and_counts_as_wanted() -> None:
    published = entries(destination("x"), destination("y"), destination("x", "zoo"), source("s", "zoo"))
    want = wanted([stored(destination("x"))], published, unread={"zoo"})
    found = difference(want, published)
    assert (list(found.gone), found.changed, found.opened) == ([document_key(destination("y"))], {}, {})
    assert is_whole(want, published)


def test_what_is_adopted_is_the_customers_at_its_versions() -> None:
    found = adopted({**entries(destination("a"), version=7), **entries(destination("b", CANARY))}, 5)
    assert found == [
        StoredDocument(
            tenant="acme",
            key=DocumentKey("destination", "a"),
            version=7,
            document=destination("a"),
            by="import",
            at_ms=5,
        )
    ]


def test_a_new_leader_opens_no_source_before_what_its_predecessor_published_is_in_force() -> None:
    found = difference(entries(source("a")), {})
    assert not due(found, silent, {}, 500, 499 + LIVE_MS)
    assert due(found, silent, {}, 500, 500 + LIVE_MS)


def test_a_source_is_a_new_one_also_if_another_tenant_has_one_of_its_name() -> None:
    found = difference(entries(source("a", "acme")), entries(source("a", "zoo")))
    assert (found.changed, list(found.opened)) == ({}, [b"acme/source/a"])


@given(topics, topics)
def test_a_topic_is_whole_if_it_lacks_nothing_and_nothing_is_older(want: Entries, published: Entries) -> None:
    lacking = [key for key in want if key not in published]
    assert is_whole(want, published) == (not lacking)
    assert is_whole(want, {**want, **published})
    later = {key: Entry(version=2, document=entry.document) for key, entry in want.items()}
    assert is_whole(later, want) == (not want)
