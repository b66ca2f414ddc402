"""A store that fails while a token is made leaves no token with a lost text; operators get a first token."""

import logging
from collections.abc import Collection
from pathlib import Path
from typing import Any

import pytest

from pipelines.management.api.rights.token_index import MIGRATION, MIGRATIONS, TokenIndex
from pipelines.management.api.rights.token_store import (
    MOST_FORGOTTEN,
    MOST_TOKENS,
    TokensFullError,
    TokenStore,
    write_first_token,
)
from pipelines.management.api.rights.tokens import TOKENS, Token, new_token
from shared.contracts.api_answers.access import Role
from shared.contracts.envelope import DAY_MS
from shared.dynamodb.client import StoreError

NOW = 10 * DAY_MS


class Items:
    """Tokens and their index in memory; the operations named in `fails` fail."""

    def __init__(self) -> None:
        self.rows: dict[tuple[str, str], Any] = {(MIGRATIONS, MIGRATION): 0}
        self.fails: set[str] = set()
        self.deletes = 0

    @property
    def kept(self) -> list[Token]:
        """Tokens that are, or were, valid."""
        return [row for (partition, _), row in self.rows.items() if partition == TOKENS]

    def get(self, partition: str, sort: str) -> Any:
        return self.rows.get((partition, sort))

    def put(self, partition: str, sort: str, item: Any) -> None:
        self.rows[partition, sort] = item
        if partition == TOKENS:
            self._check("put")  # as if the answer were lost

    def put_after(self, *_: object) -> bool:
        return False  # already there

    def all(self, partition: str, prefix: str = "") -> list[tuple[str, Any]]:
        self._check("all")
        found = ((sort, row) for (at, sort), row in self.rows.items() if at == partition)
        return sorted((sort, row) for sort, row in found if sort.startswith(prefix))

    def those(self, partition: str, sorts: Collection[str]) -> list[tuple[str, Any]]:
        return [(sort, self.rows[partition, sort]) for sort in sorts if (partition, sort) in self.rows]

    def delete(self, partition: str, sort: str) -> None:
        self.deletes += partition == TOKENS
        self._check("delete")
        self.rows.pop((partition, sort), None)

    def _check(self, operation: str) -> None:
        if operation in self.fails:
            raise StoreError(f"{operation} failed")


@pytest.fixture
def items() -> Items:
    return Items()


def store(items: Items) -> TokenStore:
    given: Any = items
    return TokenStore(given, TokenIndex(given, given, given))


def make(items: Items) -> tuple[str, Token]:
    return store(items).make(Role.VIEWER, "t", label="x", by="ann", now_ms=NOW, days=None)


def fill(items: Items, count: int, days: float | None = None) -> None:
    for n in range(count):
        text, token = new_token(Role.VIEWER, "t", label="x", by="ann", now_ms=n, days=days)
        store(items).keep(text, token)


@pytest.mark.parametrize("operation", ["put", "all"])
def test_a_token_that_cannot_be_answered_does_not_stay(items: Items, operation: str) -> None:
    items.fails = {operation}
    with pytest.raises(StoreError, match=f"{operation} failed"):
        make(items)
    assert not items.kept


@pytest.mark.parametrize(("fails", "error"), [({"all", "delete"}, "all"), ({"put", "delete"}, "put")])
def test_one_that_cannot_be_deleted_either_is_logged_by_its_id(
    items: Items, fails: set[str], error: str, caplog: pytest.LogCaptureFixture
) -> None:
    items.fails = fails
    with pytest.raises(StoreError, match=f"{error} failed"):
        make(items)
    (left,) = items.kept
    (record,) = caplog.records
    assert (record.levelno, record.__dict__["token"]) == (logging.ERROR, left.id)


def test_one_above_the_limit_that_cannot_be_deleted_is_refused_all_the_same(
    items: Items, caplog: pytest.LogCaptureFixture
) -> None:
    fill(items, MOST_TOKENS)
    items.fails = {"delete"}
    with pytest.raises(TokensFullError):
        make(items)
    assert len(caplog.records) == 1


def test_what_expired_is_forgotten_few_at_a_time_and_the_oldest_first(items: Items) -> None:
    fill(items, MOST_TOKENS + 2 * MOST_FORGOTTEN, days=1)
    _, token = make(items)
    assert items.deletes == MOST_FORGOTTEN
    expired = [each.made_ms for each in items.kept if each != token]
    assert min(expired) == MOST_FORGOTTEN


def test_a_token_is_answered_though_nothing_can_be_forgotten(
    items: Items, caplog: pytest.LogCaptureFixture
) -> None:
    fill(items, MOST_TOKENS + 5, days=1)
    items.fails = {"delete"}
    _, token = make(items)
    assert token in items.kept
    assert items.deletes == 1, "a store that fails is not asked again"
    assert [record.levelno for record in caplog.records] == [logging.WARNING]


def test_operators_get_a_token_at_a_start_that_finds_no_valid_one(items: Items, tmp_path: Path) -> None:
    file = tmp_path / "operator.token"
    assert write_first_token(store(items), file, NOW)
    first = file.read_text()
    assert store(items).find(first.strip(), NOW) and file.stat().st_mode & 0o777 == 0o600
    assert not write_first_token(store(items), file, NOW), "there is one"
    (key,) = items.kept
    store(items).revoke(None, key.id, NOW)
    text, last = store(items).make(Role.OPERATOR, None, label="x", by="ann", now_ms=NOW, days=1)
    assert not write_first_token(store(items), file, NOW + DAY_MS - 1)
    assert write_first_token(store(items), file, NOW + DAY_MS), "all have expired"
    assert store(items).find(file.read_text().strip(), NOW + DAY_MS)
    assert last in items.kept and store(items).find(text, NOW + DAY_MS) is None
