"""What a process of this machine says of itself to Prometheus."""

import urllib.request
from http.client import HTTPException
from typing import Final

_ANSWER_SECONDS: Final = 2.0


def scraped(url: str) -> str | None:
    """The metrics of a process, as text; None while it does not answer.

    Args:
        url: of the process's health and metrics.
    """
    try:
        with urllib.request.urlopen(f"{url}/metrics", timeout=_ANSWER_SECONDS) as answer:  # noqa: S310 - our own
            return str(answer.read().decode())
    except (OSError, HTTPException, UnicodeDecodeError):
        return None
