"""HTTP client of the management API: each request carries the token of the session that asks."""

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from types import TracebackType
from typing import Any, Final, Self, TypeVar
from urllib.parse import quote

import httpx
import msgspec
from msgspec import Struct

from pipelines.management.console.client import UnreachableError
from pipelines.management.console.session import Identity

T = TypeVar("T")
Document = dict[str, Any]
Schema = Mapping[str, Any]
_CONNECTIONS: Final = 16
_PAGE: Final = 200
_MOST_PAGES: Final = 10
NEW: Final = {"If-None-Match": "*"}


class FieldError(Struct, frozen=True, kw_only=True):
    """What is wrong with one field of a document."""

    pointer: str
    detail: str
    fix: str = ""


class ProblemError(Exception):
    """The API refused a request."""

    def __init__(self, status: int, detail: str, errors: Sequence[FieldError] = ()) -> None:
        super().__init__(detail)
        self.status, self.errors = status, errors


class SideStatus(Struct, frozen=True, kw_only=True):
    """Whether a document is in force on one side."""

    state: str
    reason: str = ""


class Version(Struct, frozen=True, kw_only=True):
    """One version of a document; a deletion has none."""

    version: int
    by: str
    at_ms: int
    document: Document | None = None
    status: dict[str, SideStatus] | None = None
    write_key: str | None = None
    """Of a new source, once."""


class Key(Struct, frozen=True, kw_only=True):
    """A write key as it is listed."""

    id: str
    label: str = ""
    last_four: str = ""
    made_ms: int | None = None
    made_by: str = ""


class Connector(Struct, frozen=True, kw_only=True):
    """A connector and the JSON Schema of its options."""

    name: str
    options: dict[str, Any]


class TenantEntry(Struct, frozen=True, kw_only=True):
    """A tenant that has documents."""

    tenant: str


class NewKey(Struct, frozen=True, kw_only=True):
    """A key that was just made."""

    key: str


class _Listed(Struct, frozen=True, kw_only=True):
    items: msgspec.Raw
    next: str | None = None


class _Problem(Struct, frozen=True, kw_only=True):
    detail: str = ""
    errors: list[FieldError] = []


def if_match(version: int) -> dict[str, str]:
    """The header of a write that expects a version."""
    return {"If-Match": f'"{version}"'}


def path_of(*steps: str) -> str:
    """A path of the API below /v1, each step quoted."""
    return "/v1/" + "/".join(quote(step, safe="") for step in steps)


class ApiClient:
    """An async context manager, for all sessions."""

    def __init__(self, url: str, timeout: float) -> None:
        self.url = url.rstrip("/")
        self._http = httpx.AsyncClient(
            base_url=self.url,
            timeout=timeout,
            limits=httpx.Limits(max_connections=_CONNECTIONS),
            trust_env=False,
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._http.aclose()

    async def whoami(self, token: str) -> Identity:
        """Whose token it is; a ProblemError with status 401 if nobody's."""
        return self.decoded(await self.send(token, "GET", path_of("whoami")), Identity)

    def account(self, token: str) -> "Account":
        """The API as a token sees it."""
        return Account(self, token)

    async def send(
        self,
        token: str,
        method: str,
        path: str,
        body: object = None,
        headers: Mapping[str, str] | None = None,
    ) -> bytes:
        """A request's answer.

        Raises:
            ProblemError: if it is refused.
            UnreachableError: if the API does not answer, or fails.
        """
        sent = None if body is None else msgspec.json.encode(body)
        asked = {"Authorization": f"Bearer {token}", "Content-Type": "application/json", **(headers or {})}
        try:
            answer = await self._http.request(method, path, content=sent, headers=asked)
        except httpx.HTTPError as error:
            raise UnreachableError(
                f"the management API does not answer: {error or type(error).__name__}; try again"
            ) from error
        if answer.is_success:
            return answer.content
        raise self._refusal(answer)

    @staticmethod
    def _refusal(answer: httpx.Response) -> Exception:
        try:
            problem = msgspec.json.decode(answer.content, type=_Problem)
        except msgspec.MsgspecError:
            problem = _Problem()
        said = problem.detail or f"status {answer.status_code}"
        if answer.is_client_error:
            return ProblemError(answer.status_code, said, problem.errors)
        return UnreachableError(f"the management API: {said}")

    @staticmethod
    def decoded(content: bytes, kind: type[T]) -> T:
        """An answer's body as what it should be."""
        try:
            return msgspec.json.decode(content, type=kind)
        except msgspec.MsgspecError as error:
            raise UnreachableError(f"the management API: unexpected answer: {error}") from error

    async def get(self, token: str, path: str, kind: type[T]) -> T:
        """One thing, decoded."""
        return self.decoded(await self.send(token, "GET", path), kind)

    async def listed(self, token: str, path: str, kind: type[T]) -> list[T]:
        """A list, at most ten pages of it."""
        found: list[T] = []
        query = f"?limit={_PAGE}"
        for _ in range(_MOST_PAGES):
            page = await self.get(token, path + query, _Listed)
            found += self.decoded(bytes(page.items), list[kind])  # type: ignore[valid-type]
            if page.next is None:
                break
            query = f"?limit={_PAGE}&cursor={quote(page.next, safe='')}"
        return found


class Account:
    """The API with one session's token."""

    def __init__(self, client: ApiClient, token: str) -> None:
        self._client, self._token = client, token

    async def tenants(self) -> list[str] | None:
        """The tenants there are; None if the API does not say."""
        found = await self._if_there(path_of("tenants"), TenantEntry)
        return None if found is None else [each.tenant for each in found]

    async def connectors(self) -> list[Connector]:
        """The connectors with their options; none if the API does not say."""
        return await self._if_there(path_of("connectors"), Connector) or []

    async def _if_there(self, path: str, kind: type[T]) -> list[T] | None:
        try:
            return await self._client.listed(self._token, path, kind)
        except ProblemError as error:
            if error.status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.TOO_MANY_REQUESTS):
                raise
            return None

    async def documents(self, tenant: str, kind: str) -> list[Version]:
        """A tenant's documents of a kind (in the plural), by name."""
        return await self._client.listed(self._token, path_of("tenants", tenant, kind), Version)

    async def document(self, tenant: str, kind: str, name: str) -> Version:
        """One document."""
        return await self._client.get(self._token, path_of("tenants", tenant, kind, name), Version)

    async def put(
        self, tenant: str, kind: str, name: str, document: Document, condition: Mapping[str, str]
    ) -> Version:
        """Write a document under a condition."""
        path = path_of("tenants", tenant, kind, name)
        answer = await self._client.send(self._token, "PUT", path, document, condition)
        return ApiClient.decoded(answer, Version)

    async def delete(self, tenant: str, kind: str, name: str, version: int) -> None:
        """Delete a document that is at a version."""
        path = path_of("tenants", tenant, kind, name)
        await self._client.send(self._token, "DELETE", path, headers=if_match(version))

    async def history(self, tenant: str, kind: str, name: str) -> list[Version]:
        """Its versions, newest first."""
        path = path_of("tenants", tenant, kind, name, "history")
        return await self._client.listed(self._token, path, Version)

    async def revert(self, tenant: str, kind: str, name: str, to: int, version: int) -> None:
        """Make a document that is at `version` what it was at `to`."""
        path = path_of("tenants", tenant, kind, name, "revert")
        await self._client.send(self._token, "POST", path, {"version": to}, if_match(version))

    async def keys(self, tenant: str, source: str) -> list[Key]:
        """The write keys of a source."""
        return await self._client.listed(
            self._token, path_of("tenants", tenant, "sources", source, "keys"), Key
        )

    async def add_key(self, tenant: str, source: str, label: str) -> str:
        """A new write key."""
        path = path_of("tenants", tenant, "sources", source, "keys")
        answer = await self._client.send(self._token, "POST", path, {"label": label})
        return ApiClient.decoded(answer, NewKey).key

    async def remove_key(self, tenant: str, source: str, key_id: str) -> None:
        """Remove a write key."""
        path = path_of("tenants", tenant, "sources", source, "keys", key_id)
        await self._client.send(self._token, "DELETE", path)
