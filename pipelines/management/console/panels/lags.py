"""How late events were, over time."""

from pipelines.management.console import charts, figures
from pipelines.management.console.feed import Look
from pipelines.management.console.markup import Markup, tag
from pipelines.management.console.panels.frame import panel, write
from pipelines.management.console.panels.plot import Plot


def newest(look: Look) -> Markup:
    """The newest minute's figures in words."""
    card = next((card for card in reversed(look.cards) if card.end_to_end.p95 is not None), None)
    if card is None:
        return tag("p", "No events in this time.", class_="caption")
    lags = card.end_to_end
    return tag(
        "p",
        f"{figures.clock_minute(card.minute)}: p50 {figures.lag(lags.p50)}, p95 {figures.lag(lags.p95)}, "
        f"p99 {figures.lag(lags.p99)} end to end; p95 {figures.lag(card.inside.p95)} inside hifi.",
        class_="caption",
        data_minute=card.minute,
    )


class Lags:
    """The chart of percentiles."""

    def __init__(self) -> None:
        with panel("lags", "Lag, end to end", "From the time that names an event's minute to leaving hifi"):
            self._plot = Plot("chart-lags", "Lag percentiles by minute, in milliseconds")
            self._newest = write(Markup())

    def show(self, look: Look) -> None:
        """Bring it up to date."""
        self._plot.draw(charts.percentiles(look.cards, look.first_minute, look.last_minute))
        self._newest.content = newest(look)
