"""Options for ECharts, made from cards. Pure. Colours come from the style sheet, so they follow the theme."""

from collections.abc import Iterable, Sequence
from typing import Any, Final

from pipelines.management.console import formatting
from shared.contracts.scorecard import MinuteFigures, Node, NodeLags, Percentiles

Options = dict[str, Any]

PROCESSING: Final = (Node.COLLECT, Node.INGEST, Node.ROUTE, Node.TRANSMIT)
"""Nodes in the charts. retry waits on purpose and would hide the others, so it is left out."""

GUTTER: Final = 88
"""Pixels before the plot of the percentiles, for what stands above it on the same axis."""

MARGIN: Final = 16
"""Pixels after it."""

_GRID: Final = {"left": 8, "right": MARGIN, "top": 44, "bottom": 4, "containLabel": True}
_ALIGNED_GRID: Final = {"left": GUTTER, "right": MARGIN, "top": 44, "bottom": 28, "containLabel": False}
_TEXT: Final = {"color": "var(--quiet)", "fontFamily": "inherit", "fontSize": 12}
_LINE: Final = {"lineStyle": {"color": "var(--line)"}}
_IN_MS: Final = (
    "value => value == null ? 'no events' : value.toLocaleString('en-GB', {maximumFractionDigits: 1}) + ' ms'"
)
_TOOLTIP: Final = {
    "trigger": "axis",
    "confine": True,
    "backgroundColor": "var(--card)",
    "borderColor": "var(--line)",
    "textStyle": {"color": "var(--text)", "fontFamily": "inherit", "fontSize": 13},
    ":valueFormatter": _IN_MS,
}
_PERCENTILES: Final = (
    ("p50", "var(--series-1)", "solid"),
    ("p95", "var(--series-2)", "solid"),
    ("p99", "var(--series-3)", "dashed"),
)


def mean_durations(cards: Iterable[MinuteFigures]) -> dict[Node, float]:
    """The lag that each node adds, ms: the mean over the minutes, weighted by their events."""
    added: dict[Node, float] = {}
    weights: dict[Node, int] = {}
    for card in cards:
        for lags in _processing(card.nodes):
            if lags.process_ms is not None:
                weight = max(1, card.collected)
                added[lags.node] = added.get(lags.node, 0.0) + lags.process_ms * weight
                weights[lags.node] = weights.get(lags.node, 0) + weight
    return {node: added[node] / weights[node] for node in PROCESSING if node in added}


def pie(durations: dict[Node, float]) -> Options:
    """A pie chart of each node's share in the time from end to end."""
    return {
        "animation": False,
        "tooltip": _TOOLTIP | {"trigger": "item"},
        "series": [
            {
                "type": "pie",
                "radius": ["52%", "88%"],
                "label": {"show": False},
                "emptyCircleStyle": {"color": "var(--none)"},
                "stillShowZeroSum": False,
                "emphasis": {"disabled": True},
                "itemStyle": {"borderColor": "var(--card)", "borderWidth": 2},
                "data": [
                    {"name": node.value, "value": round(spent, 1), "itemStyle": {"color": node_colour(node)}}
                    for node, spent in durations.items()
                ],
            }
        ],
    }


def stacked(cards: Sequence[MinuteFigures], first: int, last: int) -> Options:
    """A stacked chart of the lag that each node adds, by minute."""
    by_minute = {card.minute: {lags.node: lags.process_ms for lags in card.nodes} for card in cards}
    return _over_time(first, last) | {
        "series": [
            _series(node.value, [by_minute.get(minute, {}).get(node) for minute in range(first, last + 1)])
            | {
                "stack": "nodes",
                "areaStyle": {"color": node_colour(node), "opacity": 0.8},
                "lineStyle": {"width": 1, "color": node_colour(node)},
                "itemStyle": {"color": node_colour(node)},
            }
            for node in PROCESSING
        ]
    }


def percentiles(cards: Sequence[MinuteFigures], first: int, last: int) -> Options:
    """A line chart of the percentiles of the end-to-end lag, by minute."""
    by_minute = {card.minute: card.end_to_end for card in cards}
    none = Percentiles()
    return _over_time(first, last) | {
        "grid": _ALIGNED_GRID,
        "series": [
            _series(name, [getattr(by_minute.get(minute, none), name) for minute in range(first, last + 1)])
            | {
                "lineStyle": {"width": 2, "color": colour, "type": line},
                "itemStyle": {"color": colour},
            }
            for name, colour, line in _PERCENTILES
        ],
    }


def node_colour(node: Node) -> str:
    """The style sheet's colour of a node."""
    return f"var(--node-{node.value})"


def _processing(nodes: Iterable[NodeLags]) -> Iterable[NodeLags]:
    return (lags for lags in nodes if lags.node in PROCESSING)


def _over_time(first: int, last: int) -> Options:
    return {
        "animation": False,
        "grid": _GRID,
        "legend": {
            "top": 0,
            "left": 0,
            "icon": "roundRect",
            "itemWidth": 14,
            "itemHeight": 8,
            "textStyle": _TEXT,
        },
        "tooltip": _TOOLTIP,
        "xAxis": {
            "type": "category",
            "data": [formatting.clock_minute(minute) for minute in range(first, last + 1)],
            "boundaryGap": False,
            "axisLabel": _TEXT
            | {"hideOverlap": True, "alignMinLabel": "left", "alignMaxLabel": "right", "margin": 12},
            "axisLine": _LINE,
            "axisTick": {"show": False},
        },
        "yAxis": {
            "type": "value",
            "axisLabel": _TEXT | {"formatter": "{value} ms"},
            "splitLine": _LINE,
            "splitNumber": 4,
        },
    }


def _series(name: str, values: list[float | None]) -> Options:
    return {
        "type": "line",
        "name": name,
        "data": [_point(values, at) for at in range(len(values))],
        "symbol": "none",
        "showAllSymbol": True,
        "symbolSize": 6,
        "emphasis": {"disabled": True},
    }


def _point(values: list[float | None], at: int) -> float | Options | None:
    """A minute between two without events makes no line, so it is drawn as a dot."""
    value = values[at]
    if value is None:
        return None
    beside = values[max(0, at - 1) : at] + values[at + 1 : at + 2]
    alone = all(other is None for other in beside)
    return {"value": round(value, 1), "symbol": "circle"} if alone else round(value, 1)
