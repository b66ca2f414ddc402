"""Asks the observe of a local side."""

from collections.abc import Callable
from typing import Final

import httpx

from pipelines.control.deploy.backend import BackendError
from scripts.local.side import Side

_SECONDS: Final = 5.0


def observe_of(side: Side) -> Callable[[str], bytes]:
    """A function that answers GET of a path; it raises BackendError."""

    def ask(path: str) -> bytes:
        try:
            return httpx.get(f"{side.observe_url}{path}", timeout=_SECONDS).raise_for_status().content
        except (httpx.HTTPError, ValueError) as error:
            raise BackendError(f"observe of {side.name} does not answer: {error}") from error

    return ask
