"""A bundle that cannot be written is refused before anything is read for it."""

from collections.abc import Sequence
from typing import Any

import pytest

from pipelines.management.api.documents import Documents
from pipelines.management.api.problems import ProblemError
from shared.contracts.document_items import MOST_CHANGES, MOST_PLANNED, DocumentKey
from shared.contracts.egress_policy import EgressPolicy


class Reads:
    """An empty table that counts its reads."""

    def __init__(self) -> None:
        self.count = 0

    def current(self, tenant: str, keys: Sequence[DocumentKey]) -> dict[DocumentKey, Any]:
        del tenant, keys
        self.count += 1
        return {}


def keys(count: int) -> list[DocumentKey]:
    return [DocumentKey("pipe", f"p{number}") for number in range(count)]


def documents(table: Any) -> Documents:
    nothing: Any = None
    return Documents(table, nothing, nothing, EgressPolicy(), lambda: 0)


@pytest.mark.parametrize(
    ("count", "dry_run", "said"),
    [
        (MOST_CHANGES + 1, False, "at most 49 documents, not 50; send them in parts"),
        (MOST_PLANNED + 1, True, "at most 10,000 documents, not 10,001; send them in parts"),
    ],
)
def test_what_no_write_takes_costs_no_read(count: int, dry_run: bool, said: str) -> None:
    table = Reads()
    with pytest.raises(ProblemError, match=said) as refused:
        documents(table).versions_of("t", keys(count), dry_run=dry_run)
    assert (refused.value.status, table.count) == (413, 0)


@pytest.mark.parametrize(("count", "dry_run"), [(MOST_CHANGES, False), (MOST_PLANNED, True)])
def test_the_versions_of_a_whole_bundle_are_read_together(count: int, dry_run: bool) -> None:
    table = Reads()
    found = documents(table).versions_of("t", keys(count), dry_run=dry_run)
    assert (set(found.values()), len(found), table.count) == ({0}, count, 1)
