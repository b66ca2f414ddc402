"""What each node adds to an event's way: in all, and by minute."""

from nicegui import ui

from pipelines.management.console import charts, formatting
from pipelines.management.console.html import Markup, tag
from pipelines.management.console.panels.base import Chart, empty, panel, write
from pipelines.management.console.poller import Snapshot
from shared.contracts.scorecard import Node


def shares(durations: dict[Node, float]) -> Markup:
    """The pie in words."""
    if not durations:
        return empty("No figures yet: they come with the first whole minute that had events.")
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
    """The pie and the stacked chart."""

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

    def show(self, look: Snapshot) -> None:
        """Bring both up to date."""
        durations = charts.mean_durations(look.cards)
        self._key.content = shares(durations)
        self._pie.draw(charts.pie(durations))
        self._stacked.draw(charts.stacked(look.cards, look.first_minute, look.last_minute))
