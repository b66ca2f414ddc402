"""Which source a write key belongs to."""

from pipelines.data.collect.errors import Refusal, RefusedError
from shared.contracts.documents import SEALED_PREFIX, Catalogue, Source, key_digest

_MEND = "send Authorization: Bearer <write key> with a key of a source that was applied"


def authenticate(authorization: bytes | None, catalogue: Catalogue) -> Source:
    """The source whose write key an `Authorization` header carries.

    Raises:
        RefusedError: 401, there is no key or nobody knows it.
    """
    if authorization is None:
        raise _unauthorized("there is no write key")
    scheme, _, key = authorization.decode("utf-8", "replace").partition(" ")
    if scheme.lower() != "bearer":
        raise _unauthorized("the authorization is not a bearer key")
    key = key.strip()
    # A digest is what the config topic holds: whoever can read it there must not get in with it.
    source = None if key.startswith(SEALED_PREFIX) else catalogue.source_by_key.get(key_digest(key))
    if source is None:
        raise _unauthorized("the write key is not known")
    return source


def _unauthorized(error: str) -> RefusedError:
    refusal = Refusal(error, "authorization", _MEND)
    return RefusedError(401, refusal, headers=(("www-authenticate", "Bearer"),))
