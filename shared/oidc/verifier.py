"""Verifies that a token is the issuer's, meant for hifi, and valid now."""

import hmac
from collections.abc import Mapping, Sequence
from typing import Any, Final

from joserfc import jws, jwt
from joserfc.errors import JoseError

from shared.oidc.errors import TokenRefusedError
from shared.oidc.keys import KeyCache
from shared.runtime.clock import Clock

MOST_TOKEN: Final = 16 * 1024
"""Characters of a token."""

LEEWAY_SECONDS: Final = 30
"""How far the issuer's clock may be from ours."""

ALGORITHMS: Final = (
    "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "Ed25519",
)  # fmt: skip
"""Signatures with a private key that only the issuer has; neither `none` nor the HMACs of a shared one."""

_MOST_HEADER: Final = 4_096
_MOST_SUBJECT: Final = 512
Claims = Mapping[str, Any]


def _registry() -> jws.JWSRegistry:
    """Issuers add headers of their own, which mean nothing here; what is `crit` is refused if unknown."""
    registry = jws.JWSRegistry(algorithms=ALGORITHMS, strict_check_header=False)
    registry.max_header_length = _MOST_HEADER
    return registry


class Verifier:
    """May be asked from any thread; blocks while keys are read."""

    def __init__(self, issuer: str, audiences: Sequence[str], keys: KeyCache, clock: Clock) -> None:
        """Verify tokens of an issuer that are meant for one of the audiences."""
        self._issuer, self._audiences, self._keys, self._clock = issuer, list(audiences), keys, clock
        self._registry = _registry()

    def verify(self, text: str, nonce: str | None = None) -> Claims:
        """The claims of a token.

        Args:
            text: of the token.
            nonce: that it must have, for one that answers a sign-in; None takes any.

        Raises:
            TokenRefusedError: if it is not valid; the text says why.
            ProviderAwayError: if that cannot be found out now.
        """
        try:
            claims = self._signed(text)
            self._check(claims)
        except TokenRefusedError:
            raise
        except (JoseError, ValueError, TypeError, KeyError, RecursionError) as error:
            raise TokenRefusedError(str(error) or type(error).__name__) from None
        if nonce is not None and not hmac.compare_digest(str(claims.get("nonce")).encode(), nonce.encode()):
            raise TokenRefusedError("nonce: it answers another sign-in")
        return claims

    def _signed(self, text: str) -> Claims:
        """The claims, once the signature is the issuer's."""
        if len(text) > MOST_TOKEN or not text.isascii():
            raise TokenRefusedError(f"it is not ASCII of at most {MOST_TOKEN:,} characters")
        header = jws.extract_compact(text.encode(), registry=self._registry).headers()
        if header.get("alg") not in ALGORITHMS:
            raise TokenRefusedError("its algorithm is not allowed")
        kid = header.get("kid")
        if not isinstance(kid, str | None):
            raise TokenRefusedError("its key id is not a text")
        return jwt.decode(text, self._keys.find(kid), algorithms=ALGORITHMS, registry=self._registry).claims

    def _check(self, claims: Claims) -> None:
        registry = jwt.JWTClaimsRegistry(
            now=self._clock() // 1_000,
            leeway=LEEWAY_SECONDS,
            iss={"essential": True, "value": self._issuer},
            aud={"essential": True, "values": self._audiences},
            sub={"essential": True},
            exp={"essential": True},
        )
        registry.validate(dict(claims))
        if len(claims["sub"]) > _MOST_SUBJECT:
            raise TokenRefusedError("sub: it is too long")
