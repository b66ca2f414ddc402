"""What a plan writes to the table, and when that counts as published."""

from collections.abc import Iterator

import pytest

from scripts.documents.publication import published
from scripts.documents.snapshot import Snapshot, Write, deletions
from shared.contracts.document_items import ABSENT, MOST_CHANGES, DocumentKey, StoredDocument
from shared.contracts.documents import Destination, Document, Entry, Pipe, Source, kind_of
from shared.contracts.publish_plan import document_key

KEY = DocumentKey("destination", "d")
D = Destination(name="d", tenant="acme")
OTHERS = Destination(name="d", tenant="other")


def stored(document: Document, version: int = 1, at_ms: int = 1) -> StoredDocument:
    key = DocumentKey(kind_of(document), document.name)
    return StoredDocument(
        tenant=document.tenant, key=key, version=version, document=document, by="ann", at_ms=at_ms
    )


def deletion(version: int, tenant: str = "acme") -> StoredDocument:
    return StoredDocument(tenant=tenant, key=KEY, version=version, document=None, by="ann", at_ms=1)


def keys(parts: Iterator[Write]) -> list[list[str]]:
    return [[str(change.key) for change in changes] for _, changes in parts]


def test_a_plan_too_large_for_one_write_opens_its_new_source_last_and_writes_pipes_after_destinations() -> (
    None
):
    many = MOST_CHANGES // 2 + 1
    pipes: list[Document] = [
        Pipe(name=f"p{n:03}", tenant="acme", source="s", destination=f"d{n:03}") for n in range(many)
    ]
    destinations = [Destination(name=f"d{n:03}", tenant="acme") for n in range(many)]
    source = Source(name="s", tenant="acme", write_keys=["a-write-key"])
    seen = Snapshot([])
    first, second = keys(seen.writes([seen.step(each) for each in [source, *pipes, *destinations]]))
    assert len(first) == MOST_CHANGES
    assert [*first, *second] == [
        *(f"destination/d{n:03}" for n in range(many)),
        *(f"pipe/p{n:03}" for n in range(many)),
        "source/s",
    ]


def test_the_writes_of_several_tenants_are_apart() -> None:
    seen = Snapshot([])
    one, other = Destination(name="a", tenant="acme"), Destination(name="b", tenant="zoo")
    assert [tenant for tenant, _ in seen.writes([seen.step(other), seen.step(one)])] == ["acme", "zoo"]


@pytest.mark.parametrize(
    ("there", "expected", "version"),
    [([], ABSENT, 1), ([stored(D, 4)], 4, 5), ([deletion(4)], ABSENT, 5), ([deletion(4, "zoo")], ABSENT, 1)],
)
def test_a_change_expects_the_version_that_was_seen_and_goes_on_from_it(
    there: list[StoredDocument], expected: int, version: int
) -> None:
    seen = Snapshot(there)
    step = seen.step(Destination(name="d", tenant="acme", timeout_seconds=7))
    ((_, (change,)),) = seen.writes([step])
    assert (change.expected, step.entry.version) == (expected, version)


def test_a_document_that_stays_as_it_is_is_not_written() -> None:
    seen = Snapshot([stored(D, 4)])
    assert list(seen.writes([seen.step(D)])) == []


def test_pipes_are_deleted_before_what_they_name_and_deletions_not_again() -> None:
    pipe = Pipe(name="p", tenant="acme", source="s", destination="d")
    parts = deletions([stored(Destination(name="e", tenant="acme")), deletion(3), stored(pipe)])
    assert keys(parts) == [["pipe/p", "destination/e"]]


def test_of_two_tenants_documents_of_one_name_the_earlier_is_in_the_catalogue_and_both_are_found() -> None:
    seen = Snapshot([stored(D, at_ms=2), stored(OTHERS, at_ms=1)])
    assert seen.catalogue.destinations == {"d": OTHERS}
    assert [each.tenant for each in seen.find("destination", "d")] == ["other", "acme"]


@pytest.mark.parametrize(
    ("written", "there", "said"),
    [
        (stored(D, 2), Entry(version=2, document=D), True),
        (stored(D, 2), Entry(version=3, document=D), True),
        (stored(D, 2), Entry(version=1, document=D), False),
        (stored(D, 2), Entry(version=2, document=OTHERS), False),
        (stored(D, 2), None, False),
        (deletion(2), None, True),
        (deletion(2), Entry(version=1, document=D), False),
        (deletion(2), Entry(version=3, document=D), True),
        (deletion(2), Entry(version=1, document=OTHERS), True),
    ],
)
def test_a_version_is_published_once_nodes_read_it_or_a_later_one(
    written: StoredDocument, there: Entry | None, said: bool
) -> None:
    entries = {} if there is None else {document_key(D): there}
    assert published(written, entries) is said
