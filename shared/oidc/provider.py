"""The provider over HTTP: its description, keys and token endpoint; answers are bounded in size and time."""

import ssl
import time
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any, Final, TypeVar

import httpx
import msgspec
from joserfc.errors import JoseError
from joserfc.jwk import Key, import_key
from msgspec import Struct

from shared.oidc.addresses import is_safe
from shared.oidc.errors import ProviderAwayError, TokenRefusedError

T = TypeVar("T")
DISCOVERY: Final = "/.well-known/openid-configuration"
_CONNECT_SECONDS: Final = 2.0
_READ_SECONDS: Final = 4.0
_TOTAL_SECONDS: Final = 8.0
_KEPT_SECONDS: Final = 60.0
_MOST_BYTES: Final = 256 * 1024
_MOST_KEYS: Final = 64
_ASYMMETRIC: Final = frozenset({"RSA", "EC", "OKP"})


class Metadata(Struct, frozen=True, kw_only=True):
    """The provider's description of itself (OpenID Connect Discovery)."""

    issuer: str
    jwks_uri: str
    authorization_endpoint: str = ""
    token_endpoint: str = ""
    token_endpoint_auth_methods_supported: tuple[str, ...] = ("client_secret_basic",)


class _KeySet(Struct, frozen=True):
    keys: list[dict[str, Any]]


class _Refusal(Struct, frozen=True):
    error: str = ""


class Provider:
    """One issuer. Every method blocks, may be called from any thread and raises ProviderAwayError."""

    def __init__(self, issuer: str, monotonic: Callable[[], float] = time.monotonic) -> None:
        """`issuer` is one that `checked_issuer` lets pass."""
        self.issuer, self._monotonic = issuer, monotonic
        self._described: tuple[Metadata, float] | None = None
        self._http = httpx.Client(
            timeout=httpx.Timeout(_READ_SECONDS, connect=_CONNECT_SECONDS),
            verify=ssl.create_default_context(),
            trust_env=False,
        )

    def close(self) -> None:
        """Close its connections."""
        self._http.close()

    def metadata(self) -> Metadata:
        """Its description; what was read is kept for a minute, so that no stranger can have it read at will.

        It is read without a lock: one who waits for an issuer that does not answer keeps no others waiting.
        """
        now = self._monotonic()
        if self._described is None or now - self._described[1] > _KEPT_SECONDS:
            self._described = self._metadata(), now
        return self._described[0]

    def _metadata(self) -> Metadata:
        url = self.issuer.rstrip("/") + DISCOVERY
        found = self._decoded(url, self._ok("GET", url), Metadata)
        if found.issuer != self.issuer:
            raise ProviderAwayError(f"{url} names another issuer, {found.issuer!r}: set the issuer it names")
        for address in (found.jwks_uri, found.authorization_endpoint, found.token_endpoint):
            if address and not is_safe(address):
                raise ProviderAwayError(f"{url} names {address!r}, which is not https")
        return found

    def keys(self) -> list[Key]:
        """Its keys for signatures; those that cannot be used are left out."""
        url = self.metadata().jwks_uri
        found = self._decoded(url, self._ok("GET", url), _KeySet).keys[:_MOST_KEYS]
        keys = [key for each in found if (key := _public_key(each)) is not None]
        if not keys:
            raise ProviderAwayError(f"{url} has no key for signatures")
        return keys

    def post(self, url: str, fields: Mapping[str, str], secret: tuple[str, str] | None, kind: type[T]) -> T:
        """An endpoint's answer to a form, decoded as `kind`.

        Args:
            url: the endpoint.
            fields: of the form.
            secret: name and password for HTTP Basic; None without.
            kind: a Struct.

        Raises:
            TokenRefusedError: if it refuses with a status from 400 to 499 other than 429, which passes.
        """
        auth = None if secret is None else httpx.BasicAuth(*secret)
        status, body = self._asked("POST", url, data=dict(fields), auth=auth)
        if 400 <= status < 500 and status != HTTPStatus.TOO_MANY_REQUESTS:
            raise TokenRefusedError(f"{url} refuses with {status} {_cause(body)}".rstrip())
        if status != HTTPStatus.OK:
            raise ProviderAwayError(f"{url} answers {status}")
        return self._decoded(url, body, kind)

    def _ok(self, method: str, url: str) -> bytes:
        status, body = self._asked(method, url)
        if status != HTTPStatus.OK:
            raise ProviderAwayError(f"{url} answers {status}")
        return body

    def _asked(self, method: str, url: str, **form: Any) -> tuple[int, bytes]:
        until = self._monotonic() + _TOTAL_SECONDS
        body = bytearray()
        try:
            with self._http.stream(method, url, headers={"Accept": "application/json"}, **form) as answer:
                for part in answer.iter_bytes():
                    body += part
                    if len(body) > _MOST_BYTES or self._monotonic() > until:
                        raise ProviderAwayError(f"{url} answers too much or too slowly")
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise ProviderAwayError(f"{url} does not answer: {error or type(error).__name__}") from error
        return answer.status_code, bytes(body)

    @staticmethod
    def _decoded(url: str, body: bytes, kind: type[T]) -> T:
        try:
            return msgspec.json.decode(body, type=kind)
        except (msgspec.MsgspecError, RecursionError) as error:
            raise ProviderAwayError(f"{url} answers what cannot be read: {error}") from error


def _cause(body: bytes) -> str:
    """The error code of a refusal; its free text may quote what was sent."""
    try:
        code = msgspec.json.decode(body, type=_Refusal).error
    except (msgspec.MsgspecError, RecursionError):
        return ""
    return code[:60] if code.replace("_", "").isalnum() else ""


def _public_key(data: dict[str, Any]) -> Key | None:
    if data.get("kty") not in _ASYMMETRIC or data.get("use", "sig") != "sig":
        return None
    try:
        return import_key(data)
    except (JoseError, ValueError, TypeError):
        return None
