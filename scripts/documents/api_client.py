"""HTTP client of the management API, which alone writes documents."""

import ssl
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from http import HTTPStatus
from types import TracebackType
from typing import Any, Final, Self
from urllib.parse import urlsplit

import httpx
import msgspec
from msgspec import Struct

from shared.contracts.api_answers.problems import FieldError, Problem
from shared.contracts.egress_policy import is_loopback
from shared.contracts.live_tail import HEARTBEAT_SECONDS
from shared.runtime.authorities import authorities
from shared.runtime.errors import OperatorError

_TIMEOUT_SECONDS: Final = 30.0
_CONNECT_SECONDS: Final = 2.0
_LONGEST_WAIT: Final = 30.0
_LISTED: Final = "200"
_SILENT_SECONDS: Final = 3 * HEARTBEAT_SECONDS


Decode = Callable[[bytes], Any]
"""Makes values of JSON; raises msgspec.DecodeError if it is none."""


class Server(Struct, frozen=True, kw_only=True):
    """Where a management API is, and who asks."""

    url: str
    token: str
    tenant: str | None = None
    """The tenant where none is named; None for all that the token may see."""

    fix: str = "check the address"
    """Advice for the case that it does not answer."""


class DocumentsError(OperatorError):
    """The documents cannot be read or written; the text says why and what to do."""


class RefusedError(DocumentsError):
    """The API refused a request."""

    def __init__(self, status: int, detail: str, errors: Sequence[FieldError]) -> None:
        super().__init__(detail)
        self.code, self.errors = status, errors


class ApiClient:
    """A context manager. Every method raises DocumentsError if the API does not answer."""

    def __init__(self, server: Server, pause: Callable[[float], None] = time.sleep) -> None:
        """Ask a server; `pause` waits when it says that requests come too fast.

        Raises:
            DocumentsError: for an address to which a token would travel in the clear.
        """
        _check(server.url)
        self.server, self._pause = server, pause
        https = server.url.startswith("https:")
        self._http = httpx.Client(
            base_url=server.url.rstrip("/"),
            headers={"Authorization": f"Bearer {server.token}"},
            timeout=httpx.Timeout(_TIMEOUT_SECONDS, connect=_CONNECT_SECONDS),
            verify=ssl.create_default_context() if https else authorities(server.url),
            trust_env=False,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._http.close()

    def ready(self) -> bool:
        """Whether the API answers and can use its store."""
        try:
            return self._http.get("/readyz").status_code == HTTPStatus.OK
        except httpx.HTTPError:
            return False

    def get(self, path: str) -> Any:
        """The decoded answer to GET `path`.

        Raises:
            RefusedError: for a status from 400 on.
        """
        return self.send("GET", path)

    def items(self, path: str, body: Any = None, decode: Decode = msgspec.json.decode) -> Iterator[Any]:
        """Everything that a list holds, page by page; one that depends on a body is asked for with POST."""
        query = {"limit": _LISTED}
        while True:
            page = self.send("GET" if body is None else "POST", path, body, query=query, decode=decode)
            yield from page["items"]
            if page["next"] is None:
                return
            query |= {"cursor": page["next"]}

    def send(  # noqa: PLR0913 - one parameter a part of a request
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        headers: Mapping[str, str] | None = None,
        query: Mapping[str, str] | None = None,
        decode: Decode = msgspec.json.decode,
    ) -> Any:
        """Ask, again as long as the server says that requests come too fast; None for an empty answer.

        Raises:
            RefusedError: for a status from 400 on.
        """
        content = None if body is None else msgspec.json.encode(body)
        waited = 0.0
        while True:
            answer = self._answer(method, path, content, headers or {}, query or {})
            if answer.status_code != HTTPStatus.TOO_MANY_REQUESTS or waited > _LONGEST_WAIT:
                return _decoded(answer, decode)
            wait = float(answer.headers.get("Retry-After", "1"))
            self._pause(wait)
            waited += wait

    def stream(self, path: str) -> Iterator[bytes]:
        """The answer to GET `path`, bit by bit, for as long as it goes on.

        Raises:
            RefusedError: for a status from 400 on.
        """
        silent = httpx.Timeout(_SILENT_SECONDS, connect=_CONNECT_SECONDS)
        try:
            with self._http.stream("GET", path, timeout=silent) as answer:
                if not answer.is_success:
                    answer.read()
                    _decoded(answer)
                yield from answer.iter_raw()
        except httpx.HTTPError as error:
            raise self._unreachable(error) from error

    def _unreachable(self, error: httpx.HTTPError) -> DocumentsError:
        said = f"the management API at {self.server.url} does not answer: {error or type(error).__name__}"
        return DocumentsError(said, self.server.fix)

    def _answer(
        self,
        method: str,
        path: str,
        content: bytes | None,
        headers: Mapping[str, str],
        query: Mapping[str, str],
    ) -> httpx.Response:
        try:
            return self._http.request(method, path, content=content, headers=headers, params=query)
        except httpx.HTTPError as error:
            raise self._unreachable(error) from error


def _check(url: str) -> None:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise DocumentsError(f"{url} is no address of a server", "write it like https://api.example.com")
    if parts.scheme == "http" and not is_loopback(parts.hostname):
        raise DocumentsError(f"{url}: a token must not travel in the clear", "use https://")


def _decoded(answer: httpx.Response, decode: Decode = msgspec.json.decode) -> Any:
    if answer.is_success:
        try:
            return decode(answer.content) if answer.content else None
        except msgspec.DecodeError as error:
            raise DocumentsError(f"{answer.url} is no management API: its answer is not JSON") from error
    problem: Problem | None
    try:
        problem = msgspec.json.decode(answer.content, type=Problem)
    except msgspec.MsgspecError:
        problem = None
    detail = (problem and problem.detail) or f"{answer.url} answers {answer.status_code}"
    if answer.status_code == HTTPStatus.UNAUTHORIZED:
        raise DocumentsError(
            f"{answer.url.host} does not know the token", "`hifi login URL` with a valid one"
        )
    raise RefusedError(answer.status_code, detail, problem.errors if problem else ())
