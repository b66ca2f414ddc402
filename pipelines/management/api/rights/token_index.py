"""Which tokens a tenant has: beside a token under its digest, an item under its tenant and id.

Older versions wrote no such item. For a release and the way back from it one may run beside this version, so
that all tokens are looked through, as it does. After that each process first adds the items that are missing.
"""

import threading
from typing import Final

from msgspec import Struct

from pipelines.management.api.rights.tenant_ids import is_id, sort_key
from pipelines.management.api.rights.tokens import TOKENS, Token
from shared.contracts.envelope import DAY_MS
from shared.dynamodb.item_store import ItemStore

PLACES: Final = "token_ids#"
MIGRATIONS: Final = "migrations#"
MIGRATION: Final = "token_ids"
BESIDE_MS: Final = 14 * DAY_MS
"""An older version may make tokens for so long after the first process of this one began."""

Kept = tuple[str, Token]
"""The sort key of a token, and the token."""


class TokenPlace(Struct, frozen=True, kw_only=True):
    """Where a token is."""

    key: str
    """Its sort key."""

    made_ms: int


class TokenIndex:
    """May be used from any thread; raises StoreError. Without members' personal tokens.

    The item of a token that is gone means nothing: what counts is under the digest.
    """

    def __init__(
        self, tokens: ItemStore[Token], places: ItemStore[TokenPlace], migrations: ItemStore[int]
    ) -> None:
        self._tokens, self._places, self._migrations = tokens, places, migrations
        self._lock = threading.Lock()
        self._until: int | None = None
        self._filed = False

    def put(self, key: str, token: Token) -> None:
        """Note where a token is, before it is there."""
        place = TokenPlace(key=key, made_ms=token.made_ms)
        self._places.put(PLACES, sort_key(token.tenant, token.id), place)

    def remove(self, token: Token) -> None:
        """Forget where a token was."""
        self._places.delete(PLACES, sort_key(token.tenant, token.id))

    def of(self, tenant: str | None, now_ms: int) -> list[Kept]:
        """A tenant's tokens in any order, expired ones included; None gives the operators'."""
        if not self._complete(now_ms):
            return self._looked_through(tenant)
        places = self._places.all(PLACES, sort_key(tenant, ""))
        return self._tokens.those(TOKENS, [place.key for _, place in places])

    def one(self, tenant: str | None, token_id: str, now_ms: int) -> Kept | None:
        """One of a tenant's tokens; None if there is none of that id."""
        if not is_id(token_id):
            return None
        complete = self._complete(now_ms)
        place = self._places.get(PLACES, sort_key(tenant, token_id))
        if place is not None:
            token = self._tokens.get(TOKENS, place.key)
            return None if token is None else (place.key, token)
        found = [] if complete else self._looked_through(tenant)
        return next((each for each in found if each[1].id == token_id), None)

    def _looked_through(self, tenant: str | None) -> list[Kept]:
        found = self._tokens.all(TOKENS)
        return [each for each in found if each[1].tenant == tenant and not each[1].member]

    def _complete(self, now_ms: int) -> bool:
        """Whether every token has its item, and no older version makes one without."""
        with self._lock:
            if self._filed:
                return True
            if self._until is None:
                self._until = self._beside_until(now_ms)
            if now_ms >= self._until:
                self._file(now_ms)
                self._filed = True
            return self._filed

    def _beside_until(self, now_ms: int) -> int:
        until = now_ms + BESIDE_MS
        if self._migrations.put_after(MIGRATIONS, MIGRATION, until, 0):
            return until
        there = self._migrations.get(MIGRATIONS, MIGRATION)
        return until if there is None else there

    def _file(self, now_ms: int) -> None:
        """Add the items that are missing, and delete those of tokens that an older version revoked.

        One of the last day may be that of a token that is just being made.
        """
        tokens = dict(self._tokens.all(TOKENS))
        places = dict(self._places.all(PLACES))
        for key, token in tokens.items():
            if not token.member and sort_key(token.tenant, token.id) not in places:
                self.put(key, token)
        for sort, place in places.items():
            if place.key not in tokens and place.made_ms < now_ms - DAY_MS:
                self._places.delete(PLACES, sort)
