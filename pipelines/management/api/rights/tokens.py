"""Tokens: random, known to the table by their digest only. Pure."""

import hashlib
import secrets
from typing import Final

from shared.contracts.api_answers.access import Role, TokenView
from shared.contracts.envelope import DAY_MS

TOKENS: Final = "tokens#"
PREFIX: Final = "hifi_"
_BYTES: Final = 32
_SHOWN: Final = 4


class Token(TokenView, frozen=True, kw_only=True):
    """A token's row in the table."""

    role: Role


def digest(text: str) -> str:
    """The sort key of a token. It has 256 random bits, so that a plain hash is enough."""
    return hashlib.sha256(text.encode()).hexdigest()


def is_expired(token: Token, now_ms: int) -> bool:
    """Whether a token's time is over."""
    return token.expires_ms is not None and now_ms >= token.expires_ms


def new_token(  # noqa: PLR0913  # the columns
    role: Role, tenant: str | None, *, label: str, by: str, now_ms: int, days: float | None
) -> tuple[str, Token]:
    """The text of a new token, and its row, which is not in the table yet."""
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
