"""How late events were, over time."""

from pipelines.management.console import charts, formatting
from pipelines.management.console.html import Markup, tag
from pipelines.management.console.panels.base import Chart, panel, write
from pipelines.management.console.poller import Snapshot


def newest(look: Snapshot) -> Markup:
    """The newest minute's figures in words."""
    card = next((card for card in reversed(look.cards) if card.end_to_end.p95 is not None), None)
    if card is None:
        return tag("p", "No events in this time.", class_="caption")
    lags = card.end_to_end
    return tag(
        "p",
        f"{formatting.clock_minute(card.minute)}: "
        f"p50 {formatting.lag(lags.p50)}, p95 {formatting.lag(lags.p95)}, "
        f"p99 {formatting.lag(lags.p99)} end to end; p95 {formatting.lag(card.inside.p95)} inside hifi.",
        class_="caption",
        data_minute=card.minute,
    )


class Lags:
    """The chart of percentiles."""

    def __init__(self) -> None:
        with panel("lags", "Lag, end to end", "From the time that names an event's minute to leaving hifi"):
            self._plot = Chart("chart-lags", "Lag percentiles by minute, in milliseconds")
            self._newest = write(Markup())

    def show(self, look: Snapshot) -> None:
        """Bring it up to date."""
        self._plot.draw(charts.percentiles(look.cards, look.first_minute, look.last_minute))
        self._newest.content = newest(look)
