"""Asks observe for a pipe's card and its side's stability, for rollouts."""

from collections.abc import Mapping
from functools import partial
from http import HTTPStatus
from typing import Final, TypeVar
from urllib.parse import quote

import httpx
import msgspec

from shared.contracts.diamond.stability import SILENT, Stability
from shared.contracts.envelope import MINUTE_MS
from shared.contracts.scorecard import PipeCard
from shared.runtime.authorities import authorities
from shared.runtime.logging import get_logger
from shared.runtime.side_stability import PATH, asked_stability

T = TypeVar("T")
_log = get_logger(__name__)
_SECONDS: Final = 5.0


class MeterClient:
    """Belongs to one thread."""

    def __init__(self, url: str | None) -> None:
        """`url` is observe's; None if there is none, which is the same as one that does not answer."""
        self._http = None if url is None else _client(url)

    def stability(self) -> Stability:
        """Whether the side is stable; SILENT if observe does not answer."""
        return SILENT if self._http is None else asked_stability(self._http, partial(_no_answer, PATH))

    def pipe(self, tenant: str, pipe: str, since_ms: int) -> PipeCard | None:
        """The card of a pipe's events since a step began; None if observe does not answer.

        Args:
            tenant: the pipe's.
            pipe: its name.
            since_ms: when the step began, epoch milliseconds: the first whole minute after it counts.
        """
        asked = {"tenant": tenant, "from": str(-(-since_ms // MINUTE_MS))}
        return self._get(f"/v1/pipes/{quote(pipe, safe='')}", asked, PipeCard)

    def _get(self, path: str, query: Mapping[str, str], kind: type[T]) -> T | None:
        if self._http is None:
            return None
        try:
            answer = self._http.get(path, params=query)
            if answer.status_code == HTTPStatus.OK:
                return msgspec.json.decode(answer.content, type=kind)
            said = f"status {answer.status_code}"
        except (httpx.HTTPError, msgspec.MsgspecError) as error:
            said = str(error) or type(error).__name__
        _no_answer(path, said)
        return None


def _no_answer(path: str, cause: str) -> None:
    _log.warning("rollouts wait: the meter does not answer", extra={"path": path, "error": cause})


def _client(url: str) -> httpx.Client:
    return httpx.Client(base_url=url, timeout=_SECONDS, verify=authorities(url), trust_env=False)
