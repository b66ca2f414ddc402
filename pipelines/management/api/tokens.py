"""Tokens: random, known to the table by their digest only."""

import hashlib
import os
import secrets
from pathlib import Path
from typing import Final

from msgspec import Struct

from pipelines.management.api.permissions import Role
from shared.dynamodb.client import StoreError
from shared.dynamodb.item_store import ItemStore
from shared.runtime.logging import get_logger

_log = get_logger(__name__)
TOKENS: Final = "tokens#"
PREFIX: Final = "hifi_"
_BYTES: Final = 32
_SHOWN: Final = 4
DAY_MS: Final = 86_400_000
MOST_TOKENS: Final = 100
"""Of a tenant, or of the operators, valid at a time; as many that have expired stay in their list."""

MOST_FORGOTTEN: Final = 20
"""Expired tokens that one request deletes."""


class Token(Struct, frozen=True, kw_only=True):
    """What the table holds of a token."""

    id: str
    role: Role
    tenant: str | None
    """None: an operator's."""

    label: str
    last_four: str
    made_ms: int
    made_by: str
    expires_ms: int | None
    """Epoch milliseconds; None is never."""

    member: bool = False
    """A member's personal token: its role is the member's, who is listed and removed among the members."""


def digest(text: str) -> str:
    """The sort key of a token. It has 256 random bits, so that a plain hash is enough."""
    return hashlib.sha256(text.encode()).hexdigest()


def is_expired(token: Token, now_ms: int) -> bool:
    """Whether a token's time is over."""
    return token.expires_ms is not None and now_ms >= token.expires_ms


def new_token(  # noqa: PLR0913  # the columns
    role: Role, tenant: str | None, *, label: str, by: str, now_ms: int, days: float | None
) -> tuple[str, Token]:
    """The text of a token that nobody has yet, and what the table is to hold of it."""
    text = PREFIX + secrets.token_urlsafe(_BYTES)
    token = Token(
        id=secrets.token_hex(8),
        role=role,
        tenant=tenant,
        label=label,
        last_four=text[-_SHOWN:],
        made_ms=now_ms,
        made_by=by,
        expires_ms=None if days is None else now_ms + int(days * DAY_MS),
    )
    return text, token


class TokensFullError(Exception):
    """There are as many valid tokens as there may be."""


class TokenStore:
    """The tokens in the table. Raises StoreError."""

    def __init__(self, items: ItemStore[Token]) -> None:
        self._items = items

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
            of_tenant = self._of(tenant)
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
        self._items.put(TOKENS, digest(text), token)

    def of(self, tenant: str | None) -> list[Token]:
        """A tenant's tokens in order of their ids, expired ones included; None gives the operators'.

        Without members' personal tokens, as those that `revoke` finds.
        """
        return sorted((token for _, token in self._of(tenant)), key=lambda token: token.id)

    def revoke(self, tenant: str | None, token_id: str) -> Token | None:
        """Delete one of a tenant's tokens; None if there is no such one."""
        for sort, token in self._of(tenant):
            if token.id == token_id:
                self._items.delete(TOKENS, sort)
                return token
        return None

    def _of(self, tenant: str | None) -> list[tuple[str, Token]]:
        return [each for each in self._items.all(TOKENS) if each[1].tenant == tenant and not each[1].member]

    def _undo(self, text: str, token: Token) -> None:
        """Delete a token whose text is not answered, if the store takes it."""
        try:
            self._items.delete(TOKENS, digest(text))
        except StoreError as error:
            fields = {"token": token.id, "tenant": token.tenant, "error": str(error)}
            _log.error("token whose text is not known cannot be deleted; revoke it", extra=fields)

    def _forget(self, of_tenant: list[tuple[str, Token]], now_ms: int) -> None:
        """Delete the expired ones but for the newest, or short-lived ones could fill the table.

        MOST_FORGOTTEN at a time; what the store does not delete now is left to the next token that is made.
        """
        expired = [each for each in of_tenant if is_expired(each[1], now_ms)]
        expired.sort(key=lambda each: each[1].expires_ms or 0)
        try:
            for sort, _ in expired[:-MOST_TOKENS][:MOST_FORGOTTEN]:
                self._items.delete(TOKENS, sort)
        except StoreError as error:
            _log.warning("expired tokens cannot be deleted", extra={"error": str(error)})


def write_first_token(store: TokenStore, file: Path, now_ms: int) -> bool:
    """Make an operator token into a file of mode 0600 if there is no operator token; whether one was made.

    Raises:
        OSError: if the file cannot be written.
    """
    if store.of(None):
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
