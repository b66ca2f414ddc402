"""A page of documents is bounded in bytes and in number, and holds no more than it returns."""

import tracemalloc
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.contracts.document_items import DocumentKey, EncodedVersion
from shared.contracts.documents import Destination, Document, Pipe
from shared.dynamodb import document_reader
from shared.dynamodb.document_reader import PAGE_BYTES, DocumentReader

KEY = DocumentKey("pipe", "p")


class Rows:
    """A table's client that makes the rows of one document's history, newest first, as they are read."""

    def __init__(self, *documents: Document) -> None:
        self._specs = [msgspec.json.encode(each) for each in documents]
        self.read = 0

    def get_paginator(self, operation: str) -> "Rows":
        assert operation == "query"
        return self

    def paginate(self, **asked: Any) -> Iterator[dict[str, Any]]:
        start = asked.get("ExclusiveStartKey")
        before = len(self._specs) + 1 if start is None else int(start["document"]["S"].rpartition("/")[2])
        for version in range(before - 1, 0, -1):
            self.read += 1
            yield {"Items": [self._row(version)]}

    def _row(self, version: int) -> dict[str, Any]:
        return {
            "tenant": {"S": "history#t"},
            "document": {"S": f"{KEY}/{version:010d}"},
            "version": {"N": str(version)},
            "by": {"S": "ann"},
            "at_ms": {"N": "0"},
            "spec": {"S": self._specs[version - 1].decode()},
        }


def reader(rows: Rows) -> DocumentReader:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(document_reader, "dynamodb_client", lambda _: rows)
        return DocumentReader("documents")


def hook(length: int) -> Destination:
    return Destination(name="d", tenant="t", options={"url": "x" * length})


def sizes(page: list[EncodedVersion]) -> list[int]:
    return [0 if each.document is None else len(each.document) for each in page]


def test_a_history_of_large_versions_is_read_in_pages_that_hold_little_memory() -> None:
    pattern = {"type": [f"{number:x}" for number in range(37_000)]}
    pipe = Pipe(name="p", tenant="t", source="s", destination="d", match=pattern)
    rows = Rows(*[pipe] * 40)
    table, before, found = reader(rows), None, []
    tracemalloc.start()
    try:
        while True:
            page, before = table.history_page("t", KEY, before, 200)
            found += [each.version for each in page]
            assert sum(sizes(page)) <= PAGE_BYTES
            assert sum(sizes(page)) > PAGE_BYTES - 300_000 or before is None
            if before is None:
                break
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert found == list(range(40, 0, -1))
    assert peak < 4 * PAGE_BYTES, (
        "of the pages before and now, and the objects of one document, which take ten times its bytes"
    )
    assert rows.read <= 40 + 2, "one more row a page, which says that there are more"


@given(lengths=st.lists(st.integers(0, 400), min_size=1, max_size=30), limit=st.integers(1, 12))
def test_pages_have_all_in_order_each_within_its_bounds_or_with_one_document(
    lengths: list[int], limit: int
) -> None:
    table, before, found = reader(Rows(*map(hook, lengths))), None, []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(document_reader, "PAGE_BYTES", 1_000)
        while True:
            page, before = table.history_page("t", KEY, before, limit)
            assert 1 <= len(page) <= limit
            assert sum(sizes(page)) <= 1_000 or len(page) == 1
            found += page
            if before is None:
                break
    assert [each.version for each in found] == list(range(len(lengths), 0, -1))
    urls = [msgspec.json.decode(each.document or b"null")["options"]["url"] for each in found]
    assert [len(url) for url in urls] == lengths[::-1]
