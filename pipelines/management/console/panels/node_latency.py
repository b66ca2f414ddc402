"""The panels of the lag that each node adds: as a whole, and by minute."""

from nicegui import ui

from pipelines.management.console import charts, formatting
from pipelines.management.console.html import Markup, tag
from pipelines.management.console.panels.base import Chart, empty, panel, write
from pipelines.management.console.poller import Snapshot
from shared.contracts.scorecard import Node


def shares(durations: dict[Node, float]) -> Markup:
    """The figures of the pie chart as a table."""
    if not durations:
        return empty("No figures yet: they appear after the first whole minute with events.")
    whole = sum(durations.values())
    return tag(
        "table",
        tag("tbody", *(_share(node, spent, whole) for node, spent in durations.items())),
        class_="key",
    )


def _share(node: Node, spent: float, whole: float) -> Markup:
    part = f"{spent / whole:.0%}".replace("%", " %") if whole else formatting.NONE
    return tag(
        "tr",
        tag("th", tag("i", class_=f"dot node-{node.value}", aria_hidden="true"), node.value, scope="row"),
        tag("td", str(formatting.lag(spent)), class_="number", data_name=node.value),
        tag("td", part, class_="number quiet"),
    )


class NodeLatency:
    """The two panels."""

    def __init__(self, hours: int) -> None:
        span = formatting.duration(hours * 3600)
        with (
            panel("durations", "Where the time goes", f"What each node adds to p95, mean of {span}", span=4),
            ui.element("div").classes("pie"),
        ):
            self._pie = Chart("chart-pie", "Process duration by node")
            self._key = write(Markup())
        with panel(
            "durations-by-minute", "Where the time goes, by minute", "Waiting in retry is left out", span=8
        ):
            self._stacked = Chart("chart-durations", "Process duration by node and minute, in milliseconds")

    def show(self, snapshot: Snapshot) -> None:
        """Update both panels."""
        durations = charts.mean_durations(snapshot.cards)
        self._key.content = shares(durations)
        self._pie.draw(charts.pie(durations))
        self._stacked.draw(charts.stacked(snapshot.cards, snapshot.first_minute, snapshot.last_minute))
