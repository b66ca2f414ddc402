"""Contexts with a token of an issuer: it is renewed shortly before it ends."""

from typing import Any, Final

import msgspec
from joserfc import jws
from joserfc.errors import JoseError
from msgspec.structs import replace

from scripts.documents.browser_sign_in import IssuerClient, renew
from scripts.documents.contexts import Context
from shared.oidc.code_flow import SignedIn

_EARLY_MS: Final = 60_000


def is_due(context: Context, now_ms: int) -> bool:
    """Whether its token ends soon, and can be renewed."""
    if context.sign_in is None or context.sign_in.refresh_token is None:
        return False
    return bool(_claims(context.token).get("exp", 0) * 1_000 - now_ms <= _EARLY_MS)


def fresh(context: Context, now_ms: int) -> Context:
    """The context with a token that is valid for a while, or as it is if that cannot be renewed.

    Raises:
        DocumentsError: if the issuer gives none.
    """
    by = context.sign_in
    if by is None or not is_due(context, now_ms):
        return context
    former = SignedIn(token=context.token, claims=_claims(context.token), refresh_token=by.refresh_token)
    following = renew(IssuerClient(issuer=by.issuer, client_id=by.client_id), former)
    return replace(context, token=following.token, sign_in=replace(by, refresh_token=following.refresh_token))


def _claims(token: str) -> dict[str, Any]:
    """The claims of the user's own token, which was verified when it came; empty if it cannot be read."""
    try:
        found = msgspec.json.decode(jws.extract_compact(token.encode()).payload or b"{}")
    except (JoseError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
