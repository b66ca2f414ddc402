"""Why a minute is spent, in sentences. Pure."""

import msgspec

from shared.contracts.counts import GOOD_SHARE
from shared.contracts.ledger import GOOD_MS
from shared.contracts.scorecard import MinuteCard


def why(card: MinuteCard) -> MinuteCard:
    """The card of a spent minute with its reasons."""
    found = [_lost(card)] if card.lost else []
    if card.sli is not None and card.sli < GOOD_SHARE:
        found.append(_slow(card))
    return msgspec.structs.replace(card, why=found)


def _lost(card: MinuteCard) -> str:
    hops = ", ".join(
        f"{row.lost:,} at {row.node}{f' ({row.pipe})' if row.pipe else ''}" for row in card.hops if row.lost
    )
    return f"{card.lost:,} of {card.total:,} deliveries lost ({card.loss_percent:.3g} %): {hops}."


def _slow(card: MinuteCard) -> str:
    counts = (
        (card.waiting, "waiting for their next try"),
        (card.dead, "dead letters"),
        (card.under_way, "under way"),
        (card.lost, "lost"),
    )
    others = ", ".join(f"{count:,} {what}" for count, what in counts if count)
    return (
        f"{100 * (card.sli or 0.0):.3g} % of {card.total:,} deliveries left hifi within "
        f"{GOOD_MS / 1000:g} s of entering it, {100 * GOOD_SHARE:g} % are promised"
        + (f"; {others}." if others else ".")
    )
