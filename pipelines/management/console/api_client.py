"""HTTP client of the management API: each request carries the token of the session that asks."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from types import TracebackType
from typing import Any, Final, Generic, Self, TypeVar
from urllib.parse import quote, urlencode

import httpx
import msgspec
from msgspec import Struct

from pipelines.management.console.connections import connections
from pipelines.management.console.observe_client import UnreachableError
from pipelines.management.console.session import Identity
from shared.contracts.api_answers import FieldError
from shared.contracts.live_tail import HEARTBEAT_SECONDS
from shared.contracts.rollouts import RolloutView

T = TypeVar("T")
Document = dict[str, Any]
Schema = Mapping[str, Any]
_CONNECTIONS: Final = 16
_STREAMS: Final = 32
_SILENT_SECONDS: Final = 3 * HEARTBEAT_SECONDS
NEW: Final = {"If-None-Match": "*"}


class ProblemError(Exception):
    """The API refused a request."""

    def __init__(self, status: int, detail: str, errors: Sequence[FieldError] = ()) -> None:
        super().__init__(detail)
        self.status, self.errors = status, errors


class DocumentSideStatus(Struct, frozen=True, kw_only=True):
    """Whether a document is in force on one side."""

    state: str
    reason: str = ""


class Version(Struct, frozen=True, kw_only=True):
    """One version of a document; a deletion has none."""

    version: int
    by: str
    at_ms: int
    document: Document | None = None
    status: dict[str, DocumentSideStatus] | None = None
    rollout: RolloutView | None = None
    """Of a pipe that has one."""

    write_key: str | None = None
    """Of a new source, once."""


class VersionSummary(Struct, frozen=True, kw_only=True):
    """One version of a document, without the document."""

    name: str
    version: int
    by: str
    at_ms: int
    deleted: bool
    """This version is the deletion."""

    status: dict[str, DocumentSideStatus] | None = None
    """Of the newest."""


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


class Member(Struct, frozen=True, kw_only=True):
    """A member of a tenant."""

    id: str
    role: str
    label: str = ""
    since_ms: int = 0
    invited_by: str = ""


class Invitation(Struct, frozen=True, kw_only=True):
    """An open invitation."""

    id: str
    role: str
    label: str = ""
    made_by: str = ""
    expires_ms: int = 0


class MadeToken(Struct, frozen=True, kw_only=True):
    """A token that a member made."""

    id: str
    label: str = ""


class MadeAccess(Struct, frozen=True, kw_only=True):
    """Tokens and invitations that a removed member had made; they give access unless `revoked`."""

    tokens: list[MadeToken] = []
    invitations: list[Invitation] = []
    revoked: bool = False


class NewInvitation(Struct, frozen=True, kw_only=True):
    """An invitation that was just made."""

    invitation: str


class Redeemed(Struct, frozen=True, kw_only=True):
    """The membership that an invitation gave."""

    id: str
    """Of the person, or of the personal token."""

    label: str = ""
    tenant: str
    role: str
    token: str | None = None
    """A personal token, if there is no issuer that signs people in."""


class Page(Struct, Generic[T], frozen=True, kw_only=True):
    """A part of a list."""

    items: list[T]
    next: str | None = None
    """The cursor of the next part, if there is one."""


class _Problem(Struct, frozen=True, kw_only=True):
    detail: str = ""
    errors: list[FieldError] = []


def if_match(version: int) -> dict[str, str]:
    """The header of a write that expects a version."""
    return {"If-Match": f'"{version}"'}


def path_of(*steps: str) -> str:
    """A path of the API below /v1, each step quoted."""
    return "/v1/" + "/".join(quote(step, safe="") for step in steps)


def _unreachable(error: httpx.HTTPError) -> UnreachableError:
    return UnreachableError(f"the management API does not answer: {error or type(error).__name__}; try again")


class ApiClient:
    """An async context manager, for all sessions."""

    def __init__(self, url: str, timeout: float) -> None:
        self.url = url.rstrip("/")
        self._http = connections(self.url, timeout, _CONNECTIONS)
        self._streams = connections(self.url, timeout, _STREAMS)  # of their own: they stay open for minutes

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._http.aclose()
        await self._streams.aclose()

    async def whoami(self, token: str) -> Identity:
        """The identity of a token's holder; a ProblemError with status 401 if the token is not valid."""
        return self.decoded(await self.send(token, "GET", path_of("whoami")), Identity)

    async def redeem(self, token: str, invitation: str) -> Redeemed:
        """Redeem an invitation, with a person's token, or with itself for a personal one."""
        path = path_of("invitations", "redeem")
        body = {} if token == invitation else {"invitation": invitation}
        return self.decoded(await self.send(token, "POST", path, body), Redeemed)

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
            raise _unreachable(error) from error
        if answer.is_success:
            return answer.content
        raise self._refusal(answer)

    async def stream(self, token: str, path: str) -> AsyncGenerator[bytes, None]:
        """A request's answer bit by bit, for as long as that goes on.

        Raises:
            ProblemError: if it is refused.
            UnreachableError: if the API does not answer, or no longer.
        """
        asked = {"Authorization": f"Bearer {token}"}
        silent = httpx.Timeout(self._streams.timeout.connect, read=_SILENT_SECONDS)
        try:
            async with self._streams.stream("GET", path, headers=asked, timeout=silent) as answer:
                if not answer.is_success:
                    await answer.aread()
                    raise self._refusal(answer)
                async for part in answer.aiter_raw():
                    yield part
        except httpx.HTTPError as error:
            raise _unreachable(error) from error

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

    async def page(self, token: str, path: str, kind: type[T], **query: str) -> Page[T]:
        """A page of a list; parameters that are empty are left out."""
        asked = urlencode({name: text for name, text in query.items() if text})
        return await self.get(token, f"{path}?{asked}", Page[kind])  # type: ignore[valid-type]

    async def whole(self, token: str, path: str, kind: type[T]) -> list[T]:
        """A list that the API has on one page."""
        return (await self.get(token, path, Page[kind])).items  # type: ignore[valid-type]
