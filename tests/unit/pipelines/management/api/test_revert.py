"""Reverting a source to an earlier version restores no write key."""

from typing import Any

import pytest

from pipelines.management.api.problems import ProblemError
from tests.unit.pipelines.management.api.one_document import KEY, OneDocument, documents_in, source

LEAKED, PRESENT, LATER = ("sha256:1", "sha256:2", "sha256:3")


def revert(table: OneDocument, version: int, expected: int | None = None) -> Any:
    (added,) = documents_in(table).revert("t", KEY, version, expected, by="ann", dry_run=False)
    return added.document


def test_a_removed_key_does_not_come_back() -> None:
    table = OneDocument(source(LEAKED, rate=1), source(PRESENT, rate=2))
    assert revert(table, 1) == source(PRESENT, rate=1)


def test_a_deleted_source_comes_back_with_the_keys_that_it_had_at_last() -> None:
    table = OneDocument(source(LEAKED, rate=1), source(PRESENT, rate=2), None)
    assert revert(table, 1) == source(PRESENT, rate=1)


def test_keys_that_are_rotated_at_the_same_moment_are_kept() -> None:
    table = OneDocument(source(LEAKED, rate=1), source(LEAKED, PRESENT, rate=2))
    table.between = [source(PRESENT, LATER, rate=2), source(PRESENT, rate=2)]
    assert revert(table, 1) == source(PRESENT, LATER, rate=1)


def test_a_writer_that_saw_another_version_is_refused() -> None:
    table = OneDocument(source(LEAKED, rate=1), source(PRESENT, rate=2))
    with pytest.raises(ProblemError) as refused:
        revert(table, 1, expected=1)
    assert refused.value.status == 412
