"""Client of observe's API."""

import os
from pathlib import Path
from typing import Final, TypeVar
from urllib.parse import quote

import httpx
import msgspec

from scripts.local.side import NoSideError, Side
from shared.runtime.authorities import authorities
from shared.runtime.errors import OperatorError

T = TypeVar("T")
_SECONDS: Final = 60.0
"""Time limit of a request: to find one event, observe reads topics."""

OBSERVE_URL: Final = "HIFI_OBSERVE_URL"


class ObserveError(OperatorError):
    """observe does not answer, or refuses; the text says why and what to do."""


def observe_url(root: Path) -> str:
    """Base URL of observe: HIFI_OBSERVE_URL, or that of the local side in a folder.

    Raises:
        ObserveError: if there is neither.
    """
    named = os.environ.get(OBSERVE_URL)
    if named:
        return named.rstrip("/")
    try:
        return Side.load(root).observe_url
    except NoSideError as error:
        raise ObserveError(f"{error}; or set {OBSERVE_URL} to the URL of observe") from error


def query_observe(url: str, path: str, kind: type[T], **query: str | int) -> T:
    """Send GET `path`; returns the decoded response.

    Raises:
        ObserveError: if there is no response, or a refusal.
    """
    try:
        reply = httpx.get(f"{url}{path}", params=query, timeout=_SECONDS, verify=authorities(url))
    except httpx.HTTPError as error:
        raise ObserveError(f"observe does not answer at {url}: {error}; `hifi doctor` says why") from error
    if reply.status_code != httpx.codes.OK:
        raise ObserveError(_refusal(reply))
    return msgspec.json.decode(reply.content, type=kind)


def in_path(text: str) -> str:
    """Any text as one segment of a path."""
    return quote(text, safe="")


def _refusal(reply: httpx.Response) -> str:
    try:
        reason = msgspec.json.decode(reply.content)["error"]
    except (msgspec.DecodeError, KeyError, TypeError):
        return f"observe answered {reply.status_code} to {reply.request.url}"
    return str(reason)
