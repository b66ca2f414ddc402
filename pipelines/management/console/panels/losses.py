"""The panels of losses by minute and by hop."""

from collections.abc import Iterator, Sequence

from pipelines.management.console import formatting, status_styles
from pipelines.management.console.html import Markup, joined, tag
from pipelines.management.console.panels.base import (
    Picked,
    amount,
    badge,
    counted,
    empty,
    number,
    panel,
    pickable,
    table,
    write,
)
from pipelines.management.console.panels.hops import hop_table, worst_hops
from pipelines.management.console.poller import Snapshot
from shared.contracts.scorecard import HopRow, MinuteFigures

SHOWN = 60
SHOWN_HOPS = 50
_WORDS = ("Minute", "State")
_FIGURES = (
    "Lost", "Doubled", "Loss", "Events", "Owed", "Delivered", "Under way", "Waiting", "Dead", "Within 1 s",
    "p95",
)  # fmt: skip
_FINDINGS = ("lost", "doubled")
_COUNTS = ("collected", "total", "delivered", "under_way", "waiting", "dead")


def minute_table(snapshot: Snapshot) -> Markup:
    """A table of the newest minutes, newest first."""
    cards = sorted(snapshot.cards, key=lambda card: -card.minute)[:SHOWN]
    if not cards:
        return empty("No events in this time.")
    return table(
        "minutes",
        [*_WORDS, *(amount(title) for title in _FIGURES)],
        [_row(card) for card in cards],
        "minutes",
    )


def _row(card: MinuteFigures) -> Markup:
    state = status_styles.state_of(card)
    name = formatting.clock_minute(card.minute)
    button = tag("button", name, type="button", class_="pick", aria_label=f"Details of {name} UTC")
    return tag(
        "tr",
        tag("th", button, scope="row"),
        tag("td", badge(state.value, state.style), data_name="state"),
        *_counts(card, _FINDINGS, "bad"),
        number(str(formatting.percent(card.loss_percent)), "loss_percent", "bad" if card.lost else "zero"),
        *_counts(card, _COUNTS),
        number(str(formatting.good_share(card.sli)), "sli", "bad" if card.spent else ""),
        number(str(formatting.lag(card.end_to_end.p95)), "p95"),
        data_pick=card.minute,
        data_key=f"minute-{card.minute}",
    )


def _counts(card: MinuteFigures, names: tuple[str, ...], style: str = "") -> Iterator[Markup]:
    values = ((name, getattr(card, name)) for name in names)
    return (counted(value, name, style) for name, value in values)


def day_hops(hops: Sequence[HopRow]) -> Markup:
    """A table of the day's hops that lost most, and how many more there are."""
    more = max(0, len(hops) - SHOWN_HOPS)
    note = f"And {formatting.counted(more, 'hop')} more with less loss; the card of the day has all."
    return joined(
        hop_table("hops-today", worst_hops(hops)[:SHOWN_HOPS]),
        tag("p", note, class_="note") if more else None,
    )


class Losses:
    """The two panels."""

    def __init__(self, on_minute: Picked) -> None:
        with panel("losses", "Loss by minute", "Select a minute to see its hops and the ids of lost events"):
            self._minutes = pickable(on_minute, "tall")
        with panel("hops", "Loss by hop, today", "What each hop received, passed on and lost"):
            self._hops = write(Markup())

    def show(self, snapshot: Snapshot) -> None:
        """Update both panels."""
        self._minutes.content = minute_table(snapshot)
        self._hops.content = day_hops(snapshot.day.hops)
