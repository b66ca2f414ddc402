"""HTTP client of the management API: each request carries the token of the session that asks."""

from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from http import HTTPStatus
from types import TracebackType
from typing import Any, Final, Self, TypeVar
from urllib.parse import quote, urlencode

import httpx
import msgspec

from pipelines.management.console.connections import connections
from pipelines.management.console.observe_client import UnreachableError
from pipelines.management.console.session import Identity
from shared.contracts.api_answers.access import Redeemed
from shared.contracts.api_answers.pages import Page
from shared.contracts.api_answers.problems import FieldError, Problem
from shared.contracts.live_tail import HEARTBEAT_SECONDS

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


def if_match(version: int) -> dict[str, str]:
    """The header of a write that expects a version."""
    return {"If-Match": f'"{version}"'}


def path_of(*steps: str) -> str:
    """A path of the API below /v1, each step quoted."""
    return "/v1/" + "/".join(quote(step, safe="") for step in steps)


@contextmanager
def _asking() -> Iterator[None]:
    """Turn the failures of a request into what pages show."""
    try:
        yield
    except httpx.HTTPError as error:
        said = f"the management API does not answer: {error or type(error).__name__}; try again"
        raise UnreachableError(said) from error
    except httpx.InvalidURL as error:  # the browser's own address was as long
        raise ProblemError(
            HTTPStatus.REQUEST_URI_TOO_LONG, f"the address cannot be asked for: {error}"
        ) from error


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
        with _asking():
            answer = await self._http.request(method, path, content=sent, headers=asked)
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
        with _asking():
            async with self._streams.stream("GET", path, headers=asked, timeout=silent) as answer:
                if not answer.is_success:
                    await answer.aread()
                    raise self._refusal(answer)
                async for part in answer.aiter_raw():
                    yield part

    @staticmethod
    def _refusal(answer: httpx.Response) -> Exception:
        problem: Problem | None
        try:
            problem = msgspec.json.decode(answer.content, type=Problem)
        except msgspec.MsgspecError:
            problem = None
        said = (problem and problem.detail) or f"status {answer.status_code}"
        if answer.is_client_error:
            return ProblemError(answer.status_code, said, problem.errors if problem else ())
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
