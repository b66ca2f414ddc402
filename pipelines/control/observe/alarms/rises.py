"""Remembers when each minute's count rose to its value, which may be long after the minute. Pure."""

from collections.abc import Iterable, Mapping

from msgspec import Struct

from pipelines.control.observe.alarms.history_keys import minute_key, split_minute
from pipelines.control.observe.alarms.inputs import ALARM_MINUTES, Inputs
from pipelines.control.observe.ledger.fault_attribution import is_customer_fault
from shared.contracts.envelope import MINUTE_MS
from shared.contracts.scorecard import ALL_TENANTS, MinuteCard

MinuteOf = tuple[str, int]
"""Tenant and epoch minute."""


class KnownCount(Struct, frozen=True, array_like=True):
    """A count of one minute."""

    count: int
    since_ms: int
    """When it rose to this value, epoch milliseconds."""


def doubled_counts(inputs: Inputs) -> Mapping[MinuteOf, int]:
    """Second copies that were sent, by tenant and minute."""
    return {(card.tenant, card.minute): card.doubled for card in _cards(inputs) if card.doubled}


def wrongly_dead(inputs: Inputs) -> Mapping[MinuteOf, int]:
    """Dead letters that the customer cannot prevent, by tenant and minute.

    For minutes in memory all of them are known; for others, their cards count the events that died so.
    """
    found: dict[MinuteOf, int] = {}
    for each in inputs.dead:
        key = each.tenant, each.minute
        count = sum(n for reason, n in each.reasons.items() if not is_customer_fault(reason))
        found[key] = found.get(key, 0) + count
    for card in _cards(inputs):
        if card.hifi_dead:
            key = card.tenant, card.minute
            found[key] = max(card.hifi_dead, found.get(key, 0))
    return {key: count for key, count in found.items() if count}


def _cards(inputs: Inputs) -> Iterable[MinuteCard]:
    return (card for tenant, cards in inputs.cards.items() if tenant != ALL_TENANTS for card in cards)


def risen(
    before: Mapping[str, KnownCount] | None, counts: Mapping[MinuteOf, int], now_ms: int
) -> dict[str, KnownCount]:
    """The known counts after a pass.

    A count that falls is a correction, and keeps its time. A missing count is remembered, as it may come back
    once its card is made anew or loaded.

    Args:
        before: what was known; None if nothing was remembered, as by an earlier version: counts are then
            taken to be as old as their minutes.
        counts: the counts above 0 now, by tenant and minute.
        now_ms: now, epoch milliseconds.
    """
    oldest = now_ms // MINUTE_MS - ALARM_MINUTES
    found = {key: known for key, known in (before or {}).items() if split_minute(key)[1] > oldest}
    for (tenant, minute), count in counts.items():
        key = minute_key(tenant, minute)
        known = found.get(key)
        if before is None:
            found[key] = KnownCount(count, (minute + 1) * MINUTE_MS)
        elif known is None or count > known.count:
            found[key] = KnownCount(count, now_ms)
        else:
            found[key] = KnownCount(count, min(known.since_ms, now_ms))  # a clock may be set back
    return found


def since(known: Mapping[str, KnownCount] | None, oldest_ms: int) -> set[MinuteOf]:
    """The minutes of which a count has risen after a time, with their tenants."""
    return {split_minute(key) for key, each in (known or {}).items() if each.since_ms > oldest_ms}
