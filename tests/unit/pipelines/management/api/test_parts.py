"""A set that is written in parts is refused as a whole if one of its parts would be."""

import pytest

from pipelines.management.api.moved_keys import verify_parts
from pipelines.management.api.problems import ProblemError
from shared.contracts.document_items import MOST_CHANGES, DocumentKey, StoredDocument
from shared.contracts.documents import Destination, Document, Pipe, Source, kind_of
from shared.contracts.write_parts import parts_of_versions


def stored(*documents: Document) -> list[StoredDocument]:
    return [
        StoredDocument(
            tenant="t",
            key=DocumentKey(kind_of(each), each.name),
            version=1,
            document=each,
            by="ann",
            at_ms=1,
        )
        for each in documents
    ]


def by_key(*documents: Document) -> dict[DocumentKey, StoredDocument]:
    return {each.key: each for each in stored(*documents)}


def source(name: str, *keys: str) -> Source:
    return Source(name=name, tenant="t", write_keys=list(keys))


def pipes(name: str) -> list[Document]:
    """Pipes of a source, so many that another such source goes into another part."""
    return [Pipe(name=f"{name}{at}", tenant="t", source=name, destination="d") for at in range(30)]


@pytest.mark.parametrize(
    ("before", "fix"),
    [
        ([source("a", "k1"), source("z", "k2", "k3")], "first z and a alone"),
        ([source("z", "k2", "k3")], "first z alone"),
    ],
)
def test_a_key_that_moves_to_a_source_of_an_earlier_part_is_refused_with_the_way_round(
    before: list[Document], fix: str
) -> None:
    gains, loses = source("a", "k1", "k2"), source("z", "k3")
    parts = parts_of_versions(stored(gains, *pipes("a"), loses, *pipes("z")), ())
    assert len(parts) == 2
    with pytest.raises(ProblemError, match="source z has this key until a later one") as refused:
        verify_parts(by_key(*before), parts)
    (error,) = refused.value.errors
    assert (refused.value.status, error.document) == (422, "source/a")
    assert (error.pointer, error.fix) == ("/write_keys/1", f"apply the set in two steps, {fix}")


def test_a_key_that_moves_within_a_part_or_to_a_later_one_is_taken() -> None:
    before = by_key(source("a", "k1"), source("z", "k2", "k3"))
    gains, loses = source("a", "k1", "k2"), source("z", "k3")
    later = parts_of_versions(stored(loses, *pipes("z"), gains, *pipes("a")), ())
    assert len(later) == 2
    verify_parts(before, later)
    verify_parts(before, parts_of_versions(stored(gains, loses), ()))
    verify_parts(by_key(*before_shared()), parts_of_versions(stored(*before_shared()), ()))


def before_shared() -> list[Document]:
    """Two sources that have shared a key since an older version."""
    return [source("a", "k1"), *pipes("a"), source("z", "k1"), *pipes("z")]


def test_a_source_that_states_no_keys_counts_in_parts_as_its_writer_counts_it() -> None:
    keys = [f"k{at}" for at in range(20)]
    many = [source(f"s{at}", *(f"{key}-{at}" for key in keys)) for at in range(10)]
    unstated = {DocumentKey("source", each.name) for each in many}
    assert [len(part) for part in parts_of_versions(stored(*many), ())] == [4, 4, 2]
    assert [len(part) for part in parts_of_versions(stored(*many), unstated)] == [10]


def test_a_set_with_deletions_is_not_parted_as_only_its_writer_knows_how() -> None:
    found = stored(*(Destination(name=f"d{at}", tenant="t") for at in range(MOST_CHANGES + 1)))
    assert len(parts_of_versions(found, ())) == 2
    gone = StoredDocument(
        tenant="t", key=DocumentKey("pipe", "p"), version=2, document=None, by="ann", at_ms=1
    )
    assert len(parts_of_versions([*found, gone], ())) == 1
