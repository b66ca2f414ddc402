"""Stability and minutes of one of two sides, by its observe, however that is reached."""

import time
from collections.abc import Callable, Sequence
from typing import Final, TypeVar

import msgspec
from msgspec import Struct

from pipelines.control.deploy.backend import BackendError, RefusedError, SideMinute
from shared.contracts.diamond.stability import SILENT, Stability
from shared.contracts.scorecard import MinuteFigures
from shared.runtime.side_stability import PATH

T = TypeVar("T")
_MOST_MINUTES: Final = 1_440
"""Most minutes of one request to observe."""

Ask = Callable[[str], bytes]
"""The answer of a side's observe to GET of a path; raises BackendError, RefusedError for status 400."""


class MinuteUsage(Struct, frozen=True, kw_only=True):
    """CPU and changed events that one minute added, and memory at its end; None is not known."""

    cpu_seconds: float | None = None
    memory_bytes: int | None = None
    changed: int = 0


def stability_of(ask: Ask, since: int) -> Stability:
    """Whether a side is stable; SILENT if observe does not answer.

    Args:
        ask: the side's observe.
        since: what happened in earlier minutes does not count; epoch minute, 0 for all.
    """
    try:
        return _answer(ask, f"{PATH}?from={since}", Stability)
    except BackendError:
        return SILENT


def minutes_of(ask: Ask, first: int, last: int, used: Callable[[int], MinuteUsage]) -> Sequence[SideMinute]:
    """Minutes with deliveries, settled or not, all customers together, oldest first.

    Args:
        ask: the side's observe.
        first: epoch minute.
        last: epoch minute, included.
        used: what an epoch minute added to what the side uses.

    Raises:
        BackendError: if observe does not answer.
    """
    until = min(last, int(time.time() // 60))
    since = max(first, until - _MOST_MINUTES + 1)
    if since > until:
        return []
    cards = _without_hops(ask, f"/v1/minutes?from={since}&to={until}")
    known = [card for card in cards if card.answered_for or not card.settled]
    return sorted((side_minute(card, used(card.minute)) for card in known), key=lambda each: each.minute)


def side_minute(card: MinuteFigures, used: MinuteUsage) -> SideMinute:
    """A minute as the deployer judges it.

    Dead letters that hifi could have prevented count, whether they were replayed since or not. An observe of
    an earlier version does not count these, so all beyond the customer's own are taken, which is never more.
    """
    dead_letters = max(card.hifi_dead, card.dead - card.customer_dead)
    dead = {"dead letter": dead_letters, "quarantine": card.quarantined}
    return SideMinute(
        minute=card.minute,
        settled=card.settled,
        total=card.answered_for,
        good=min(card.good, card.answered_for),
        held_up=card.held_up,
        lost=card.lost,
        under_way=card.under_way,
        doubled=card.doubled,
        changed=used.changed,
        p95_ms=card.inside.p95,
        dead={reason: count for reason, count in dead.items() if count > 0},
        cpu_seconds=used.cpu_seconds,
        memory_bytes=used.memory_bytes,
    )


def _without_hops(ask: Ask, path: str) -> list[MinuteFigures]:
    """Ask for minutes without their hops: over all customers there is one for each pipe, and none is used.

    An observe of an earlier version refuses the parameter, so it is asked without.
    """
    try:
        return _answer(ask, f"{path}&hops=false", list[MinuteFigures])
    except RefusedError:
        return _answer(ask, path, list[MinuteFigures])


def _answer(ask: Ask, path: str, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(ask(path), type=kind)
    except ValueError as error:
        raise BackendError(f"observe's answer to {path} cannot be read: {error}") from error
