"""Which part of the events a pipe takes: its sample, scaled by its ramp. Pure."""

from typing import Final

from shared.contracts.documents import Pipe
from shared.contracts.event_hash import id_hash

SAMPLE_BUCKETS: Final = 10_000
"""An event is in a pipe's sample if its bucket (of its id's hash) is below the pipe's threshold."""

_SIGN: Final = 2**63


def threshold(pipe: Pipe, now_ms: int) -> int:
    """How many of SAMPLE_BUCKETS the pipe takes now: its sample, scaled by the progress of its ramp."""
    open_part = 1.0
    if pipe.ramp is not None:
        passed = now_ms / 60_000 - pipe.ramp.start.timestamp() / 60
        open_part = min(1.0, max(0.0, passed / pipe.ramp.minutes))
    return round(pipe.sample / 100 * open_part * SAMPLE_BUCKETS)


def bucket(event_id: str) -> int:
    """The event's bucket: Spark's `pmod(xxhash64(id), SAMPLE_BUCKETS)`, of a signed hash."""
    unsigned = id_hash(event_id)
    return (unsigned - 2 * _SIGN if unsigned >= _SIGN else unsigned) % SAMPLE_BUCKETS
