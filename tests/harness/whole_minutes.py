"""Minutes that pass while a test waits."""

from collections.abc import Sequence
from typing import Final

from shared.contracts.envelope import MINUTE_MS
from shared.runtime.clock import wall_clock
from tests.harness.waiting import eventually

_WHOLE_SECONDS: Final = 150


def whole_minutes() -> Sequence[int]:
    """The epoch minutes that pass from beginning to end from now on, once there is one."""
    first = wall_clock() // MINUTE_MS + 1
    eventually(lambda: wall_clock() // MINUTE_MS > first, _WHOLE_SECONDS, "a whole minute passes", every=1)
    return range(first, wall_clock() // MINUTE_MS)
