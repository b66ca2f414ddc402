"""The metrics that a process of this machine has for Prometheus."""

import urllib.request
from collections.abc import Sequence
from http.client import HTTPException
from typing import Final

from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample

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


def samples(url: str) -> Sequence[Sample] | None:
    """The metrics of a process; None while it does not answer, or with something else.

    Args:
        url: of the process's health and metrics.
    """
    text = scraped(url)
    try:
        return (
            None
            if text is None
            else [each for one in text_string_to_metric_families(text) for each in one.samples]
        )
    except ValueError:
        return None
