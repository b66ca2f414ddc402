"""Whether a lease's holder is alive, for processes that do not want the lease."""

from collections.abc import Callable
from functools import partial
from typing import Final

from shared.dynamodb.client import dynamodb_client
from shared.dynamodb.lease import Beat, read_beat

PAUSE_SECONDS: Final = 0.2
"""Between two looks."""


def beat_reader(table: str, endpoint: str | None, keys: dict[str, str]) -> Callable[[], Beat | None]:
    """Reads a lease's beat; None if no process has the lease. It raises StoreError.

    Args:
        table: the DynamoDB table that holds it.
        endpoint: URL of DynamoDB Local; None is AWS.
        keys: partition and sort key of its item.
    """
    key = {name: {"S": value} for name, value in keys.items()}
    return partial(read_beat, dynamodb_client(endpoint), table, key)


def moves(
    beat: Callable[[], Beat | None],
    seconds: float,
    *,
    monotonic: Callable[[], float],
    sleep: Callable[[float], None],
) -> bool:
    """Whether a lease is renewed or taken within `seconds`; False at once if there is none.

    Raises what `beat` raises.
    """
    first, until = beat(), monotonic() + seconds
    while first is not None and monotonic() < until:
        sleep(PAUSE_SECONDS)
        if beat() not in (first, None):
            return True
    return False
