"""The traffic by the edge's own account: HAProxy's weights and counts, not what is written down."""

import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

from scripts.local.twins.place import Twins
from scripts.local.twins.traffic import LocalTraffic
from tests.harness.waiting import eventually

T = TypeVar("T")

_EVERY_SECONDS: Final = 0.1
_MOST_SECONDS: Final = 1_500
"""Most seconds of a release, which first starts a parked side."""


class EdgeTraffic:
    """Asks the HAProxy of two sides. Methods raise HaproxyError."""

    def __init__(self, twins: Twins) -> None:
        self._traffic = LocalTraffic(twins)

    def requests(self) -> Mapping[str, int]:
        """Customers' requests that each side was sent since HAProxy started."""
        return {each.side: each.requests for each in self._traffic.servers()}

    def seconds_until_all(self, side: str, command: Callable[[], T]) -> tuple[T, float]:
        """The result of a command, and the seconds from before it until a side has all traffic.

        The edge is watched while the command runs, which may go on long after that.
        """
        assert not self._has_all(side), f"{side} has all traffic before the command"
        began = time.monotonic()
        with ThreadPoolExecutor(1) as pool:
            running = pool.submit(command)
            eventually(
                lambda: running.done() or self._has_all(side),
                _MOST_SECONDS,
                f"{side} has all traffic",
                every=_EVERY_SECONDS,
            )
            seconds = time.monotonic() - began
            result = running.result()
        assert self._has_all(side), f"{side} has not all traffic after the command"
        return result, seconds

    def _has_all(self, side: str) -> bool:
        weights = {each.side: each.weight for each in self._traffic.servers()}
        return weights.pop(side) > 0 and not any(weights.values())
