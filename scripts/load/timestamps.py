"""RFC 3339 times at the rate of the load."""

from functools import lru_cache
from typing import Final

from shared.contracts.timestamps import parse_time

parse_ms: Final = lru_cache(maxsize=4096)(parse_time)
"""`parse_time` of a text that many events have: those of a batch mostly share one time."""
