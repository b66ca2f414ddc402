"""Asks the observe of a side whether the side is stable."""

from collections.abc import Callable
from typing import Final

import httpx
import msgspec

from shared.contracts.diamond.stability import SILENT, Stability

PATH: Final = "/v1/stability"
SECONDS: Final = 5.0
"""Time limit, where nothing else asks for a longer one."""


def asked_stability(
    observe: httpx.Client, failed: Callable[[str], None] = lambda _: None, seconds: float = SECONDS
) -> Stability:
    """The stability of a side by its observe; SILENT if that does not answer.

    Args:
        observe: a client with observe's base URL.
        failed: called with the cause if there is no answer.
        seconds: time limit.
    """
    try:
        answer = observe.get(PATH, timeout=seconds).raise_for_status()
        return msgspec.json.decode(answer.content, type=Stability)
    except (httpx.HTTPError, msgspec.MsgspecError) as error:
        failed(str(error) or type(error).__name__)
        return SILENT
