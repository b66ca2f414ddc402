"""The tokens in the table."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final, Self

from pipelines.management.api.rights.token_index import Kept, TokenIndex, TokenPlace
from pipelines.management.api.rights.tokens import TOKENS, Token, digest, is_expired, new_token
from shared.contracts.api_answers.access import Role
from shared.dynamodb.client import StoreError
from shared.dynamodb.item_store import ItemStore
from shared.runtime.logging import get_logger

_log = get_logger(__name__)
MOST_TOKENS: Final = 100
"""Most valid tokens of a tenant, or of the operators; the list keeps up to as many expired ones."""

MOST_FORGOTTEN: Final = 20
"""Expired tokens that one request deletes."""


class TokensFullError(Exception):
    """There are as many valid tokens as there may be."""


class TokenStore:
    """May be used from any thread; raises StoreError."""

    def __init__(self, items: ItemStore[Token], index: TokenIndex) -> None:
        self._items, self._index = items, index

    @classmethod
    def of_table(cls, table: str, endpoint: str | None) -> Self:
        """The tokens of a table; `endpoint` is the URL of DynamoDB Local, None is AWS."""
        place = (table, endpoint)
        items = ItemStore(*place, Token)
        return cls(items, TokenIndex(items, ItemStore(*place, TokenPlace), ItemStore(*place, int)))

    def find(self, text: str, now_ms: int) -> Token | None:
        """A token that is valid now."""
        found = self._items.get(TOKENS, digest(text))
        return found if found is not None and not is_expired(found, now_ms) else None

    def make(  # noqa: PLR0913  # the columns
        self, role: Role, tenant: str | None, *, label: str, by: str, now_ms: int, days: float | None
    ) -> tuple[str, Token]:
        """A new token: its text, which is kept nowhere, and what is. Forgets some that expired long ago.

        Raises:
            StoreError: if it cannot be kept or counted; it is deleted again then.
            TokensFullError: if the tenant has MOST_TOKENS.
        """
        text, token = new_token(role, tenant, label=label, by=by, now_ms=now_ms, days=days)
        try:
            self.keep(text, token)
            # Counted after it is there, so that of several at once, in any process, none can slip through.
            of_tenant = self._index.of(tenant, now_ms)
        except StoreError:
            self._undo(text, token)
            raise
        if sum(not is_expired(each, now_ms) for _, each in of_tenant) > MOST_TOKENS:
            self._undo(text, token)
            raise TokensFullError(
                f"{MOST_TOKENS} tokens are valid here, which is the most; revoke one that is not needed first"
            )
        self._forget(of_tenant, now_ms)
        return text, token

    def keep(self, text: str, token: Token) -> None:
        """Make a token valid from now on."""
        self._index.put(digest(text), token)  # first, so that no token is valid that cannot be listed
        self._items.put(TOKENS, digest(text), token)

    def of(self, tenant: str | None, now_ms: int) -> list[Token]:
        """A tenant's tokens in order of their ids, expired ones included; None gives the operators'.

        Without members' personal tokens, as those that `revoke` finds.
        """
        return sorted((token for _, token in self._index.of(tenant, now_ms)), key=lambda token: token.id)

    def revoke(self, tenant: str | None, token_id: str, now_ms: int) -> Token | None:
        """Delete one of a tenant's tokens; None if there is none of that id."""
        found = self._index.one(tenant, token_id, now_ms)
        if found is None:
            return None
        self._delete(*found)
        return found[1]

    def _delete(self, key: str, token: Token) -> None:
        self._items.delete(TOKENS, key)
        self._index.remove(token)

    def _undo(self, text: str, token: Token) -> None:
        """Delete a token that `make` does not return after all; a StoreError is only logged."""
        try:
            self._delete(digest(text), token)
        except StoreError as error:
            fields = {"token": token.id, "tenant": token.tenant, "error": str(error)}
            _log.error("token whose text is not known cannot be deleted; revoke it", extra=fields)

    def _forget(self, of_tenant: Sequence[Kept], now_ms: int) -> None:
        """Delete the expired ones but for the newest, or short-lived ones could fill the table.

        MOST_FORGOTTEN at a time; what the store does not delete now is left to the next token that is made.
        """
        expired = [each for each in of_tenant if is_expired(each[1], now_ms)]
        expired.sort(key=lambda each: each[1].expires_ms or 0)
        try:
            for each in expired[:-MOST_TOKENS][:MOST_FORGOTTEN]:
                self._delete(*each)
        except StoreError as error:
            _log.warning("expired tokens cannot be deleted", extra={"error": str(error)})


def write_first_token(store: TokenStore, file: Path, now_ms: int) -> bool:
    """Make an operator token into a file of mode 0600 if none is valid; whether one was made.

    Raises:
        OSError: if the file cannot be written.
    """
    if not all(is_expired(each, now_ms) for each in store.of(None, now_ms)):
        return False
    file.parent.mkdir(parents=True, exist_ok=True)
    text, token = new_token(Role.OPERATOR, None, label="operator", by="hifi", now_ms=now_ms, days=None)
    part = file.with_name(f"{file.name}.part")
    part.unlink(missing_ok=True)
    with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as out:
        out.write(f"{text}\n")
    part.replace(file)
    # Last: if the process is killed before, the next start makes another, and no valid token is unknown.
    store.keep(text, token)
    return True
