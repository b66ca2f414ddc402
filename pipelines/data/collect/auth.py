"""Authentication by write key."""

from pipelines.data.collect.errors import RefusedError
from shared.cloudevents.refusal import Refusal
from shared.contracts.documents import SEALED_PREFIX, Catalogue, Source, key_digest

_FIX = "send Authorization: Bearer <write key> with a write key of a source that was applied"


def authenticate(authorization: bytes | None, catalogue: Catalogue) -> tuple[Source, str]:
    """The source of the write key in an `Authorization` header, and the key's digest.

    Raises:
        RefusedError: 401, the key is missing or unknown.
    """
    if authorization is None:
        raise _unauthorized("the write key is missing")
    scheme, _, key = authorization.decode("utf-8", "replace").partition(" ")
    if scheme.lower() != "bearer":
        raise _unauthorized("the authorization scheme is not Bearer")
    key = key.strip()
    # The config topic holds digests of keys: a digest that was read there must not work as a key.
    digest = "" if key.startswith(SEALED_PREFIX) else key_digest(key)
    source = catalogue.source_by_key.get(digest)
    if source is None:
        raise _unauthorized("the write key is unknown")
    return source, digest


def _unauthorized(detail: str) -> RefusedError:
    refusal = Refusal(detail, "authorization", _FIX)
    return RefusedError(401, refusal, headers=(("www-authenticate", "Bearer"),))
