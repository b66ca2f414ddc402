"""Receipts: transmit's records of events that it sent, or did not send and why."""

from collections.abc import Iterable, Iterator
from typing import Final, Literal

import msgspec

KEY_BYTES: Final = 16

Result = Literal["delivered", "retry", "dead", "duplicate"]
"""`duplicate`: delivered a moment ago, dropped now; no request was sent for these events."""


Breaker = Literal["closed", "open", "half_open"]
"""State of a destination's circuit breaker; half open means that one test request is sent."""

Lane = Literal["fast", "slow"]
"""Which of transmit's two queries sends to a destination."""


class Receipt(msgspec.Struct, kw_only=True, frozen=True):
    """The value of a `receipts` record: events of one request, or of none, that shared one result."""

    destination: str
    pipe: str
    result: Result
    ids: list[str]
    minutes: list[int]
    """Epoch minutes, one for each id."""

    status: int | None
    """HTTP status of the last local try; None where no answer came."""

    tries: int
    """Local tries inside this attempt."""

    attempt: int
    """Global attempt, from 1."""

    received_ms: list[int]
    """When collect had each event, epoch milliseconds; one for each id."""

    departed_ms: int
    """When the destination's answer was in, epoch milliseconds."""

    tenant: str = ""
    since_ms: list[int] = []
    """The times that lags count from, `envelope.lag_since`; one for each id, epoch milliseconds."""

    traces: dict[str, str] = {}
    """The traceparent of each traced event, by id: see `shared.contracts.tracing`."""

    reason: str = ""
    replay: str = ""
    """The replay that all of its events were processed again in; empty for none."""

    breaker: Breaker = "closed"
    lane: Lane = "fast"
    """Breaker and lane of the destination at that moment, as the sending process saw them."""


def pack_keys(keys: Iterable[bytes]) -> bytes:
    """Delivery keys as the DELIVERED header carries them."""
    return b"".join(keys)


def unpack_keys(packed: bytes) -> Iterator[bytes]:
    """The delivery keys of a DELIVERED header."""
    return (packed[at : at + KEY_BYTES] for at in range(0, len(packed), KEY_BYTES))
