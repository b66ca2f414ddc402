"""What the observe of one of two local sides says of it."""

import time
from collections.abc import Sequence
from typing import Final, TypeVar

import httpx
import msgspec

from pipelines.control.deploy.backend import BackendError, SideMinute
from scripts.local.side import Side
from scripts.local.twins.usage import MinuteUsage, Usage
from shared.contracts.diamond.stability import Stability
from shared.contracts.scorecard import MinuteCard
from shared.runtime.side_stability import asked_stability

T = TypeVar("T")
_SECONDS: Final = 5.0
_MOST_MINUTES: Final = 1_440
"""Of one question to observe."""


def stability_of(side: Side) -> Stability:
    """Whether a side is stable; SILENT if observe does not answer."""
    with httpx.Client(base_url=side.observe_url) as observe:
        return asked_stability(observe)


def minutes_of(side: Side, first: int, last: int, usage: Usage) -> Sequence[SideMinute]:
    """Settled minutes with deliveries, all customers together, oldest first.

    Raises:
        BackendError: if observe does not answer.
    """
    until = min(last, int(time.time() // 60))
    since = max(first, until - _MOST_MINUTES + 1)
    if since > until:
        return []
    cards = _asked(side, f"/v1/minutes?from={since}&to={until}", list[MinuteCard])
    settled = [card for card in cards if card.settled and card.answered_for]
    return sorted(
        (side_minute(card, usage.of(card.minute)) for card in settled), key=lambda each: each.minute
    )


def side_minute(card: MinuteCard, used: MinuteUsage) -> SideMinute:
    """A minute as the deployer judges it."""
    dead = {"dead letter": card.dead - card.customer_dead, "quarantine": card.quarantined}
    return SideMinute(
        minute=card.minute,
        total=card.answered_for,
        good=min(card.good, card.answered_for),
        lost=card.lost,
        doubled=card.doubled,
        changed=used.changed,
        p95_ms=card.inside.p95,
        dead={reason: count for reason, count in dead.items() if count > 0},
        cpu_seconds=used.cpu_seconds,
        memory_bytes=used.memory_bytes,
    )


def _asked(side: Side, path: str, kind: type[T]) -> T:
    try:
        reply = httpx.get(f"{side.observe_url}{path}", timeout=_SECONDS).raise_for_status()
        return msgspec.json.decode(reply.content, type=kind)
    except (httpx.HTTPError, ValueError) as error:
        raise BackendError(f"observe of {side.name} does not answer: {error}") from error
