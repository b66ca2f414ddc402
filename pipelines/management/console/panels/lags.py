"""The panel of lag percentiles over time, with who acted on the side above them."""

from pipelines.management.console import charts, formatting
from pipelines.management.console.html import Markup, tag
from pipelines.management.console.panels.base import Chart, panel, write
from pipelines.management.console.panels.side_timeline import SideTimeline, SideTimelineTable
from pipelines.management.console.poller import Snapshot


def newest(snapshot: Snapshot) -> Markup:
    """The figures of the newest minute as text."""
    card = next((card for card in reversed(snapshot.cards) if card.end_to_end.p95 is not None), None)
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
    """The panel."""

    def __init__(self) -> None:
        with panel("lags", "Lag, end to end", "From the event's time to leaving hifi"):
            self._timeline = SideTimeline()
            self._plot = Chart("chart-lags", "Lag percentiles by minute, in milliseconds")
            self._newest = write(Markup())
            self._table = SideTimelineTable()

    def show(self, snapshot: Snapshot) -> None:
        """Update the panel."""
        self._timeline.show(snapshot)
        self._plot.draw(charts.percentiles(snapshot.cards, snapshot.first_minute, snapshot.last_minute))
        self._newest.content = newest(snapshot)
        self._table.show(snapshot)
