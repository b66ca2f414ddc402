"""Scorecards of days, and calendars. Pure."""

import math
from collections.abc import Iterable
from datetime import date
from typing import Final

import msgspec

from pipelines.control.observe.ledger.minute_sums import Lags
from pipelines.control.observe.scorecards.loss_table import merged_rows, percent
from pipelines.control.observe.scorecards.node_lags import end_to_end, inside, node_lags
from shared.contracts.counts import BUDGET_MINUTES, summed
from shared.contracts.scorecard import DayCard, DayMark, MinuteCard, MinuteMark, SpentMinute
from shared.contracts.timestamps import DAY_MINUTES

MOST_NINES: Final = 9.0
"""The nines of a day without a spent minute."""


def day_card(tenant: str, day: date, cards: Iterable[MinuteCard], lags: Lags) -> DayCard:
    """The card of a day, from its minutes' cards and the sum of their lags (`merged_lags`)."""
    held = sorted(cards, key=lambda card: card.minute)
    judged = [card for card in held if card.settled and _had_events(card)]
    spent = [SpentMinute(minute=card.minute, why=card.why) for card in judged if card.spent]
    counts = summed(held)
    card = DayCard(
        tenant=tenant,
        day=day.isoformat(),
        minutes=len(judged),
        spent=spent,
        nines=nines(len(spent)) if judged else None,
        left=round(BUDGET_MINUTES - len(spent), 2),
        loss_percent=percent(counts.lost, counts.total),
        inside=inside(lags),
        end_to_end=end_to_end(lags),
        nodes=node_lags(lags),
        hops=[
            msgspec.structs.replace(row, named=[], look_at=[])
            for row in merged_rows(row for card in held for row in card.hops)
        ],
    )
    return msgspec.structs.replace(card, **counts.by_name())


def _had_events(card: MinuteCard) -> bool:
    return bool(card.collected or card.total)


def nines(spent: int) -> float:
    """-log10 of the share of a day's minutes that are spent; MOST_NINES if none is."""
    return -math.log10(spent / DAY_MINUTES) + 0.0 if spent else MOST_NINES


def minute_mark(card: MinuteCard) -> MinuteMark:
    """A minute in a calendar."""
    return MinuteMark(
        minute=card.minute, total=card.total, spent=card.spent, settled=card.settled, sli=card.sli
    )


def day_mark(card: DayCard) -> DayMark:
    """A day in a calendar."""
    return DayMark(
        day=card.day, nines=card.nines, spent=len(card.spent), minutes=card.minutes, lost=card.lost
    )
