"""Asks the observe of a local side."""

from collections.abc import Callable
from typing import Final

import httpx

from pipelines.control.deploy.backend import BackendError, RefusedError
from scripts.local.side import Side
from shared.runtime.authorities import authorities

_SECONDS: Final = 5.0


def observe_of(side: Side) -> Callable[[str], bytes]:
    """A function that answers GET of a path; it raises BackendError, RefusedError for status 400."""

    def ask(path: str) -> bytes:
        try:
            url = f"{side.observe_url}{path}"
            answer = httpx.get(url, timeout=_SECONDS, verify=authorities(url), trust_env=False)
            if answer.status_code == httpx.codes.BAD_REQUEST:
                raise RefusedError(f"observe of {side.name} refuses {path}: {answer.text[:200]}")
            return answer.raise_for_status().content
        except (httpx.HTTPError, ValueError) as error:
            raise BackendError(f"observe of {side.name} does not answer: {error}") from error

    return ask
