"""A tenant's tokens are found without reading others', also tokens made by an older version."""

from collections.abc import Iterator
from typing import Final
from uuid import uuid4

import pytest

from pipelines.management.api.rights.token_index import BESIDE_MS, MIGRATION, MIGRATIONS
from pipelines.management.api.rights.token_store import MOST_TOKENS, TokensFullError, TokenStore
from pipelines.management.api.rights.tokens import TOKENS, Token, digest, new_token
from shared.contracts.api_answers.access import Role
from shared.contracts.envelope import DAY_MS
from shared.dynamodb.document_table import DocumentTable
from shared.dynamodb.item_store import ItemStore
from tests.harness.recorded_store import RecordedStore, recorded_store

NOW: Final = 1_000 * DAY_MS
AFTER: Final = NOW + BESIDE_MS
"""No older version runs any more, if the first process began at NOW."""


class FormerStore:
    """The previous version: knows a token by its digest alone, and lists by scanning all of them."""

    def __init__(self, table: str, endpoint: str) -> None:
        self._items = ItemStore(table, endpoint, Token)

    def make(self, tenant: str | None, role: Role = Role.VIEWER) -> tuple[str, Token]:
        text, token = new_token(role, tenant, label="x", by="x", now_ms=NOW, days=None)
        self._items.put(TOKENS, digest(text), token)
        return text, token

    def ids(self, tenant: str | None) -> list[str]:
        return sorted(each.id for _, each in self._items.all(TOKENS) if each.tenant == tenant)

    def finds(self, text: str) -> bool:
        return self._items.get(TOKENS, digest(text)) is not None

    def revoke(self, tenant: str | None, token_id: str) -> None:
        for sort, each in self._items.all(TOKENS):
            if (each.tenant, each.id) == (tenant, token_id):
                self._items.delete(TOKENS, sort)


class Place:
    """A table that processes of both versions use."""

    def __init__(self, endpoint: str) -> None:
        self.table, self.endpoint = f"tokens-{uuid4().hex}", endpoint
        DocumentTable(self.table, endpoint).ensure()
        self.former = FormerStore(self.table, endpoint)

    def process(self) -> TokenStore:
        """A process of this version that has read nothing yet."""
        return TokenStore.of_table(self.table, self.endpoint)

    def migrate(self) -> None:
        """Migrate, as if the first process of this version had started long ago."""
        assert ItemStore(self.table, self.endpoint, int).put_after(MIGRATIONS, MIGRATION, NOW, 0)


@pytest.fixture
def place(dynamodb_local: str) -> Place:
    return Place(dynamodb_local)


@pytest.fixture
def recorded(dynamodb_local: str) -> Iterator[tuple[Place, RecordedStore]]:
    with recorded_store(dynamodb_local) as store:
        yield Place(store.url), store


def make(store: TokenStore, tenant: str | None, now_ms: int = NOW) -> tuple[str, Token]:
    return store.make(Role.VIEWER, tenant, label="x", by="x", now_ms=now_ms, days=None)


def ids(store: TokenStore, tenant: str | None, now_ms: int) -> list[str]:
    return [each.id for each in store.of(tenant, now_ms)]


def test_while_an_older_version_may_be_beside_each_reads_what_the_other_writes(place: Place) -> None:
    store, former = place.process(), place.former
    for tenant in ("acme", "other", None):
        (old_text, old), (new_text, new) = former.make(tenant), make(store, tenant)
        both = sorted((old.id, new.id))
        assert (ids(store, tenant, AFTER - 1), former.ids(tenant)) == (both, both)
        assert (former.finds(new_text), store.find(old_text, NOW) is not None) == (True, True)
        former.revoke(tenant, new.id)
        assert store.find(new_text, NOW) is None
        assert store.revoke(tenant, new.id, NOW) is None
        assert store.revoke(tenant, old.id, NOW) == old
        assert (former.finds(old_text), former.ids(tenant), ids(store, tenant, NOW)) == (False, [], [])


def test_the_limit_counts_what_the_other_version_made(place: Place) -> None:
    for _ in range(MOST_TOKENS):
        place.former.make("acme")
    for now_ms in (NOW, AFTER):
        with pytest.raises(TokensFullError):
            make(place.process(), "acme", now_ms)
    make(place.process(), "other")


def test_what_an_older_version_made_and_revoked_is_known_after_it(place: Place) -> None:
    store = place.process()
    _, revoked = make(store, "acme")
    _, kept = make(store, "acme")
    _, old = place.former.make("acme")
    _, operator = place.former.make(None, Role.OPERATOR)
    place.former.revoke("acme", revoked.id)
    for each in (store, place.process()):
        assert ids(each, "acme", AFTER) == sorted((kept.id, old.id))
        assert ids(each, None, AFTER) == [operator.id]
        assert each.revoke("acme", revoked.id, AFTER) is None
    assert place.process().revoke("other", old.id, AFTER) is None
    assert place.process().revoke("acme", old.id, AFTER) == old
    assert ids(store, "acme", AFTER) == [kept.id]


def test_a_token_of_an_older_version_that_came_back_is_listed_by_the_next_process(place: Place) -> None:
    place.migrate()
    assert ids(place.process(), "acme", AFTER) == []
    _, token = place.former.make("acme")
    assert ids(place.process(), "acme", AFTER) == [token.id]


@pytest.mark.parametrize("others", [0, 20])
def test_making_listing_and_revoking_read_no_tokens_of_other_tenants(
    recorded: tuple[Place, RecordedStore], others: int
) -> None:
    place, asked = recorded
    place.migrate()
    store = place.process()
    for number in range(others):
        make(store, f"t{number}")
    make(store, "acme")
    asked.taken()
    _, token = make(store, "acme")
    assert asked.taken() == [
        ("PutItem", "token_ids#"),
        ("PutItem", TOKENS),
        ("Query", "token_ids#"),
        ("BatchGetItem", ""),
    ]
    assert len(store.of("acme", NOW)) == 2
    assert asked.taken() == [("Query", "token_ids#"), ("BatchGetItem", "")]
    assert store.revoke("acme", token.id, NOW) == token
    assert asked.taken() == [
        ("GetItem", "token_ids#"),
        ("GetItem", TOKENS),
        ("DeleteItem", TOKENS),
        ("DeleteItem", "token_ids#"),
    ]


@pytest.mark.parametrize("token_id", ["", "x" * 2_000, "0123456789abcde/", "\U0001f600" * 16])
def test_what_is_no_id_is_not_found(place: Place, token_id: str) -> None:
    place.migrate()
    assert place.process().revoke("acme", token_id, NOW) is None
