"""Client of observe: its answers about one tenant, passed on as they are, and about the side."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Final

import httpx
import msgspec

from pipelines.management.api.problems import ProblemError, not_found
from shared.contracts.diamond.stability import SILENT, Stability
from shared.runtime.authorities import authorities
from shared.runtime.logging import get_logger
from shared.runtime.side_stability import asked_stability

_log = get_logger(__name__)
_TIMEOUT: Final = httpx.Timeout(5.0, connect=2.0)
_SEARCH_TIMEOUT: Final = httpx.Timeout(30.0, connect=2.0)
"""Longer, as observe reads topics to find an event."""

_AWAY: Final = {"Retry-After": "5"}


class ObserveClient:
    """May be used from any thread."""

    def __init__(self, url: str | None, timeout: httpx.Timeout = _TIMEOUT) -> None:
        """`url` is observe's; None if this API has none. `timeout` is that of all but searches."""
        self._timeout = timeout
        self._http = None if url is None else _client(url)

    def get(self, tenant: str, path: str, query: Mapping[str, str | None]) -> bytes:
        """Observe's answer to GET `path` about a tenant, from memory or its tables: JSON.

        Raises:
            ProblemError: 400 as observe says it, 404 for what it does not have, 503 if it does not answer
                within about five seconds.
        """
        return self._answered(tenant, path, query, self._timeout)

    def search(self, tenant: str, path: str, query: Mapping[str, str | None]) -> bytes:
        """The same of a path for which observe reads topics; it may take half a minute."""
        return self._answered(tenant, path, query, _SEARCH_TIMEOUT)

    def _answered(
        self, tenant: str, path: str, query: Mapping[str, str | None], timeout: httpx.Timeout
    ) -> bytes:
        if self._http is None:
            raise ProblemError(
                HTTPStatus.SERVICE_UNAVAILABLE, "this server has no meter: its operator sets HIFI_OBSERVE_URL"
            )
        asked = {name: text for name, text in query.items() if text is not None} | {"tenant": tenant}
        try:
            answer = self._http.get(path, params=asked, timeout=timeout)
        except httpx.HTTPError as error:
            _log.warning("observe does not answer", extra={"error": str(error) or type(error).__name__})
            said = "the meter does not answer; try again"
            raise ProblemError(HTTPStatus.SERVICE_UNAVAILABLE, said, headers=_AWAY) from error
        if answer.status_code == HTTPStatus.OK:
            return answer.content
        if answer.status_code == HTTPStatus.NOT_FOUND:
            raise not_found()
        if answer.status_code in (HTTPStatus.BAD_REQUEST, HTTPStatus.SERVICE_UNAVAILABLE):
            wait = answer.headers.get("Retry-After")
            headers = None if wait is None else {"Retry-After": wait}
            raise ProblemError(answer.status_code, _said(answer.content), headers=headers)
        _log.error("observe refused", extra={"path": path, "status": answer.status_code})
        raise ProblemError(HTTPStatus.SERVICE_UNAVAILABLE, "the meter cannot answer this", headers=_AWAY)

    def stability(self) -> Stability:
        """Whether the side is stable; SILENT if observe does not answer."""
        if self._http is None:
            return SILENT
        return asked_stability(self._http, _not_read)


def _not_read(cause: str) -> None:
    _log.warning("stability not read: observe does not answer", extra={"error": cause})


def _said(body: bytes) -> str:
    try:
        return str(msgspec.json.decode(body)["error"])
    except (msgspec.DecodeError, KeyError, TypeError):
        return "the meter cannot answer this"


def _client(url: str) -> httpx.Client:
    return httpx.Client(base_url=url, timeout=_TIMEOUT, verify=authorities(url), trust_env=False)
