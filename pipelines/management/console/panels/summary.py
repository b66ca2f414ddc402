"""The panel of current figures."""

from pipelines.management.console import formatting
from pipelines.management.console.formatting import Figure
from pipelines.management.console.html import Markup, joined, tag
from pipelines.management.console.panels.base import UNKNOWN, write
from pipelines.management.console.poller import Snapshot
from shared.contracts.counts import BUDGET_MINUTES
from shared.contracts.scorecard import Now


def tile(name: str, title: str, figure: Figure, note: str, style: str = "") -> Markup:
    """One figure with its title and note."""
    value = tag(
        "p",
        tag("span", figure.text, class_="value", data_value=name),
        " ",
        tag("span", figure.unit, class_="unit"),
        class_="figure",
    )
    return tag(
        "div",
        tag("h3", title),
        value,
        tag("p", note, class_="note"),
        class_=f"tile {style}".strip(),
        data_testid=name,
    )


def tiles(snapshot: Snapshot) -> Markup:
    """All figures."""
    now, day = snapshot.now, snapshot.day
    spent = len(day.spent)
    return joined(
        tile("rate", "Coming in", *_rate(now)),
        tile("p95", "End to end, p95", formatting.lag(now.end_to_end.p95), _lags(snapshot)),
        tile("loss", "Lost today", *_loss(snapshot), "bad" if day.lost else ""),
        tile(
            "nines",
            "Nines today",
            formatting.nines(now.nines),
            f"{formatting.counted(spent, 'minute')} spent" if day.minutes else "no minute settled yet",
        ),
        tile(
            "left",
            "Left to spend today",
            formatting.minutes_left(day.left if _is_counted(snapshot) else None),
            f"of {BUDGET_MINUTES:g} min a day",
            "bad" if day.left < 0 else "",
        ),
    )


def _rate(now: Now) -> tuple[Figure, str]:
    if not now.looked:
        return formatting.rate(None), UNKNOWN
    return formatting.rate(now.rate), "over the last whole minute"


def _loss(snapshot: Snapshot) -> tuple[Figure, str]:
    day = snapshot.day
    if not _is_counted(snapshot):
        return formatting.share(None), UNKNOWN
    owed = f"{formatting.counted(day.lost, 'event')} of {formatting.count(day.total)} owed"
    return formatting.percent(snapshot.now.loss_percent), owed


def _is_counted(snapshot: Snapshot) -> bool:
    """Whether the day's figures say something: those of no event only do if the meter is up to date."""
    return snapshot.day.total > 0 or not snapshot.now.behind


def _lags(snapshot: Snapshot) -> str:
    if not snapshot.now.looked:
        return UNKNOWN
    lags = snapshot.now.end_to_end
    if lags.p95 is None:
        return "no event in the last whole minute"
    return f"p50 {formatting.lag(lags.p50)} · p99 {formatting.lag(lags.p99)}"


class Summary:
    """The panel."""

    def __init__(self) -> None:
        self._html = write(Markup(), "tiles")

    def show(self, snapshot: Snapshot) -> None:
        """Update the panel."""
        self._html.content = tiles(snapshot)
