"""Signing in with the authorization code flow and PKCE (RFC 6749, 7636; OpenID Connect Core, 3.1)."""

import base64
import hashlib
import secrets
from typing import Final
from urllib.parse import quote, urlencode

from msgspec import Struct

from shared.oidc.errors import ProviderAwayError, TokenRefusedError
from shared.oidc.provider import Metadata, Provider
from shared.oidc.verifier import Claims, Verifier

_BYTES: Final = 32


class SignIn(Struct, frozen=True, kw_only=True):
    """The secrets of one sign-in, all random."""

    state: str
    """Comes back with the code: the answer is to this sign-in."""

    nonce: str
    """Comes back in the token: the token is of this sign-in."""

    verifier: str
    """Goes with the code: who redeems it is who asked."""

    @property
    def challenge(self) -> str:
        """The verifier's SHA-256 in base64url: the form in which the provider first sees it."""
        digest = hashlib.sha256(self.verifier.encode()).digest()
        return base64.urlsafe_b64encode(digest).decode().rstrip("=")


def new_sign_in() -> SignIn:
    """The secrets of another sign-in."""
    state, nonce, verifier = (secrets.token_urlsafe(_BYTES) for _ in range(3))
    return SignIn(state=state, nonce=nonce, verifier=verifier)


class Tokens(Struct, frozen=True, kw_only=True):
    """The tokens in the token endpoint's answer."""

    id_token: str = ""
    refresh_token: str | None = None


class SignedIn(Struct, frozen=True, kw_only=True):
    """A person whom the provider has signed in."""

    token: str
    """The ID token, which is the bearer for the management API."""

    claims: Claims
    refresh_token: str | None

    @property
    def until_ms(self) -> int:
        """When the token ends, epoch milliseconds."""
        return int(self.claims["exp"] * 1_000)


class CodeFlow:
    """One client of a provider. Its methods block, and raise ProviderAwayError."""

    def __init__(  # noqa: PLR0913  # the client as the provider knows it
        self,
        provider: Provider,
        verifier: Verifier,
        *,
        client_id: str,
        secret: str | None,
        redirect: str,
        scopes: str,
    ) -> None:
        """Sign in.

        Args:
            provider: of the issuer.
            verifier: of tokens for this client.
            client_id: as the provider knows it.
            secret: its password; None for a public client.
            redirect: the URL that the provider sends the browser back to, exactly as it is registered.
            scopes: to ask for, separated by spaces; `openid` among them.
        """
        self._provider, self._verifier = provider, verifier
        self._client_id, self._secret, self._redirect, self._scopes = client_id, secret, redirect, scopes

    def address(self, sign_in: SignIn, *, prompt: str | None = None) -> str:
        """Where to send the browser; `prompt` is OpenID Connect's, such as `login`."""
        asked = {
            "response_type": "code",
            "client_id": self._client_id,
            "redirect_uri": self._redirect,
            "scope": self._scopes,
            "state": sign_in.state,
            "nonce": sign_in.nonce,
            "code_challenge": sign_in.challenge,
            "code_challenge_method": "S256",
        } | ({} if prompt is None else {"prompt": prompt})
        at = self._provider.metadata().authorization_endpoint
        if not at:
            raise ProviderAwayError(f"{self._provider.issuer} names no authorization_endpoint")
        return f"{at}{'&' if '?' in at else '?'}{urlencode(asked)}"

    def redeem(self, code: str, sign_in: SignIn) -> SignedIn:
        """Exchange the code for the person who signed in.

        Raises:
            TokenRefusedError: if the code is not valid, or its token is not.
        """
        fields = {"grant_type": "authorization_code", "code": code, "redirect_uri": self._redirect}
        found = self._tokens(fields | {"code_verifier": sign_in.verifier})
        claims = self._verifier.verify(found.id_token, sign_in.nonce)
        return SignedIn(token=found.id_token, claims=claims, refresh_token=found.refresh_token)

    def renew(self, former: SignedIn) -> SignedIn:
        """The same person with a newer token.

        Raises:
            TokenRefusedError: if the provider renews no more.
        """
        if former.refresh_token is None:
            raise TokenRefusedError("it cannot be renewed without a refresh token")
        found = self._tokens({"grant_type": "refresh_token", "refresh_token": former.refresh_token})
        claims = self._verifier.verify(found.id_token)
        if claims["sub"] != former.claims["sub"]:
            raise TokenRefusedError("sub: it is another person's")
        following = found.refresh_token or former.refresh_token
        return SignedIn(token=found.id_token, claims=claims, refresh_token=following)

    def _tokens(self, fields: dict[str, str]) -> Tokens:
        metadata = self._provider.metadata()
        basic = None
        if self._secret is not None and _takes_basic(metadata):
            basic = (quote(self._client_id, safe=""), quote(self._secret, safe=""))
        else:
            fields |= {"client_id": self._client_id}
            fields |= {} if self._secret is None else {"client_secret": self._secret}
        found = self._provider.post(metadata.token_endpoint, fields, basic, Tokens)
        if not found.id_token:
            raise TokenRefusedError("the provider gave no ID token; ask for the scope openid")
        return found


def _takes_basic(metadata: Metadata) -> bool:
    methods = metadata.token_endpoint_auth_methods_supported
    return "client_secret_basic" in methods or "client_secret_post" not in methods
