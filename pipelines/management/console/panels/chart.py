"""A chart that is sent to the browser only when it changed."""

from typing import Any

from nicegui import ui


class Chart:
    """ECharts, drawn as SVG: its colours can then be the style sheet's."""

    def __init__(self, name: str, label: str) -> None:
        self._chart = ui.echart({}, renderer="svg").classes("plot")
        self._chart.props(f'data-testid={name} role=img aria-label="{label}"')

    def draw(self, options: dict[str, Any]) -> None:
        """Show this."""
        if options == self._chart.options:
            return
        self._chart.options.clear()
        self._chart.options.update(options)
        self._chart.update()
