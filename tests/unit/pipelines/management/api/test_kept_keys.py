"""A source that is written without keys keeps the keys that it has at that moment."""

from collections.abc import Mapping
from typing import Any

import pytest

from pipelines.management.api.documents import Written
from pipelines.management.api.problems import ProblemError
from shared.contracts.document_items import ABSENT
from shared.contracts.documents import Source, key_digest
from tests.unit.pipelines.management.api.one_document import KEY, OneDocument, documents_in, source

FIRST, SECOND, THIRD = ("sha256:1", "sha256:2", "sha256:3")
NOTHING: Mapping[str, int] = {}


def put(table: OneDocument, expected: Mapping[str, int] = NOTHING, **fields: Any) -> Written:
    raw = {"kind": "source", "name": "s", "tenant": "t", "rate_limit": 5.0, **fields}
    return documents_in(table).put("t", [raw], [], expected, by="ann", dry_run=False)


def present(table: OneDocument) -> Source:
    found = table.versions[-1].document
    assert isinstance(found, Source)
    return found


def test_a_key_that_is_removed_meanwhile_does_not_come_back() -> None:
    table = OneDocument(source(FIRST, SECOND))
    table.between = [source(SECOND)]
    put(table)
    assert present(table) == source(SECOND, rate=5)


def test_a_key_that_is_promised_for_a_new_source_works() -> None:
    table = OneDocument()
    table.between = [source(FIRST)]
    assert not put(table).keys
    assert present(table) == source(FIRST, rate=5)


@pytest.mark.parametrize("before", [[], [source(FIRST), None]], ids=["new", "deleted before"])
def test_a_new_source_gets_a_key(before: list[Source | None]) -> None:
    table = OneDocument(*before)
    made = put(table).keys[KEY]
    assert present(table) == source(key_digest(made), rate=5)


def test_a_source_that_is_deleted_meanwhile_gets_a_key_of_its_own() -> None:
    table = OneDocument(source(FIRST))
    table.between = [None]
    made = put(table).keys[KEY]
    assert present(table) == source(key_digest(made), rate=5)


@pytest.mark.parametrize("expected", [1, ABSENT])
def test_a_version_that_its_writer_states_is_the_one_that_counts(expected: int) -> None:
    table = OneDocument(source(FIRST, SECOND), source(SECOND))
    with pytest.raises(ProblemError) as refused:
        put(table, {"source/s": expected})
    assert (refused.value.status, len(table.versions)) == (412, 2)


def test_keys_that_the_writer_states_are_written_over_whatever_there_is() -> None:
    table = OneDocument(source(FIRST))
    table.between = [source(SECOND)]
    stated = THIRD.ljust(71, "0")
    put(table, write_keys=[stated])
    assert len(table.versions) == 3
    assert present(table) == source(stated, rate=5)


def test_without_end_it_is_not_tried_again() -> None:
    table = OneDocument(source(FIRST))
    table.between = [source(FIRST, rate=n) for n in range(1, 100)]
    with pytest.raises(ProblemError, match="read it again") as refused:
        put(table)
    assert (refused.value.status, len(table.versions)) == (412, 6)
