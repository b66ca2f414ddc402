"""A Grafana dashboard as a value: panels in rows, laid out from left to right."""

from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, field
from enum import StrEnum
from typing import Any, Final

WIDTH: Final = 24
"""Columns of Grafana's grid."""

_SCHEMA: Final = 39
"""Read by Grafana 10.4 and later."""

_SOURCE: Final = {"type": "prometheus", "uid": "${datasource}"}


class Unit(StrEnum):
    """The unit of a panel's figures, as Grafana names it."""

    EVENTS = "suffix: events"
    EVENTS_PER_SECOND = "suffix: events/s"
    RECORDS = "suffix: records"
    RECORDS_PER_SECOND = "suffix: records/s"
    REQUESTS_PER_SECOND = "reqps"
    SPANS_PER_SECOND = "suffix: spans/s"
    MILLISECONDS = "ms"
    SECONDS = "s"
    SHARE = "percentunit"
    PERCENT = "percent"
    BYTES = "bytes"
    EXECUTORS = "suffix: executors"
    CORES = "suffix: cores"
    MINUTES = "suffix: min"
    NINES = "suffix: nines"
    ALARMS = "suffix: alarms"
    REQUESTS = "suffix: requests"
    RESTARTS = "suffix: restarts"
    PROCESSES = "suffix: processes"
    REASONS = "suffix: reasons"
    READY = "bool_yes_no"


class Kind(StrEnum):
    """How a panel is drawn."""

    NUMBER = "stat"
    LINES = "timeseries"
    PIE = "piechart"


@dataclass(frozen=True)
class Query:
    """A PromQL expression and the legend of its series, in which `{{label}}` is filled in."""

    expression: str
    legend: str


@dataclass(frozen=True, kw_only=True)
class Threshold:
    """The colour of figures from `value` on."""

    value: float
    colour: str


@dataclass(frozen=True)
class Panel:
    """One chart; sizes in columns and rows of Grafana's grid."""

    title: str
    text: str
    """The description that is shown when the reader hovers over the title."""

    unit: Unit
    queries: Sequence[Query]
    _: KW_ONLY
    kind: Kind = Kind.LINES
    width: int = 8
    height: int = 8
    stacked: bool = False
    decimals: int | None = None
    thresholds: Sequence[Threshold] = field(default_factory=tuple)
    """Thresholds above green, by rising value."""


@dataclass(frozen=True)
class Row:
    """Panels under a heading."""

    title: str
    panels: Sequence[Panel]


@dataclass(frozen=True, kw_only=True)
class Variable:
    """A dashboard variable that the reader picks from the values of a label."""

    name: str
    title: str
    metric: StrEnum
    first: str


def dashboard(*, uid: str, title: str, choices: Sequence[Variable], rows: Sequence[Row]) -> dict[str, Any]:
    """The JSON model that Grafana imports."""
    return {
        "uid": uid,
        "title": title,
        "tags": ["hifi"],
        "schemaVersion": _SCHEMA,
        "timezone": "utc",
        "editable": True,
        "graphTooltip": 1,
        "refresh": "10s",
        "time": {"from": "now-1h", "to": "now"},
        "templating": {"list": [_source(), *(_choice(each) for each in choices)]},
        "annotations": {"list": []},
        "panels": list(_laid_out(rows)),
    }


def _source() -> dict[str, Any]:
    return {"name": "datasource", "label": "Prometheus", "type": "datasource", "query": "prometheus"}


def _choice(choice: Variable) -> dict[str, Any]:
    query = f"label_values({choice.metric}, {choice.name})"
    return {
        "name": choice.name,
        "label": choice.title,
        "type": "query",
        "datasource": _SOURCE,
        "query": {"query": query, "refId": choice.name},
        "definition": query,
        "refresh": 2,  # at each change of the time range
        "sort": 1,
        "current": {"text": choice.first, "value": choice.first},
    }


def _laid_out(rows: Sequence[Row]) -> Iterator[dict[str, Any]]:
    number, top = 0, 0
    for row in rows:
        number += 1
        yield _heading(row, number, top)
        left, top, lowest = 0, top + 1, top + 1
        for panel in row.panels:
            if left + panel.width > WIDTH:
                left, top = 0, lowest
            number += 1
            yield _panel(panel, number, left, top)
            left, lowest = left + panel.width, max(lowest, top + panel.height)
        top = lowest


def _heading(row: Row, number: int, top: int) -> dict[str, Any]:
    place = {"x": 0, "y": top, "w": WIDTH, "h": 1}
    return {
        "id": number,
        "type": "row",
        "title": row.title,
        "collapsed": False,
        "gridPos": place,
        "panels": [],
    }


def _panel(panel: Panel, number: int, left: int, top: int) -> dict[str, Any]:
    return {
        "id": number,
        "type": panel.kind.value,
        "title": panel.title,
        "description": panel.text,
        "datasource": _SOURCE,
        "gridPos": {"x": left, "y": top, "w": panel.width, "h": panel.height},
        "targets": [_target(query, at, panel.kind) for at, query in enumerate(panel.queries)],
        "fieldConfig": {"defaults": _defaults(panel), "overrides": []},
        "options": _OPTIONS[panel.kind],
    }


def _target(query: Query, at: int, kind: Kind) -> dict[str, Any]:
    return {
        "refId": chr(ord("A") + at),
        "datasource": _SOURCE,
        "expr": query.expression,
        "legendFormat": query.legend,
        "instant": kind is not Kind.LINES,
        "range": kind is Kind.LINES,
    }


def _defaults(panel: Panel) -> dict[str, Any]:
    thresholds = [
        {"color": "green", "value": None},
        *({"color": s.colour, "value": s.value} for s in panel.thresholds),
    ]
    found: dict[str, Any] = {
        "unit": panel.unit.value,
        "thresholds": {"mode": "absolute", "steps": thresholds},
    }
    if panel.decimals is not None:
        found["decimals"] = panel.decimals
    if panel.kind is Kind.LINES:
        found |= {"min": 0, "color": {"mode": "palette-classic"}, "custom": _lines(panel)}
    return found


def _lines(panel: Panel) -> dict[str, Any]:
    return {
        "drawStyle": "line",
        "lineWidth": 1,
        "fillOpacity": 30 if panel.stacked else 5,
        "showPoints": "never",
        "spanNulls": False,
        "stacking": {"mode": "normal" if panel.stacked else "none", "group": "A"},
        "thresholdsStyle": {"mode": "dashed" if panel.thresholds else "off"},
    }


_LAST: Final = {"calcs": ["lastNotNull"], "fields": "", "values": False}
_OPTIONS: Final[dict[Kind, dict[str, Any]]] = {
    Kind.NUMBER: {"reduceOptions": _LAST, "colorMode": "value", "graphMode": "none", "textMode": "value"},
    Kind.PIE: {
        "reduceOptions": _LAST,
        "pieType": "donut",
        "displayLabels": ["name", "value"],
        "legend": {"displayMode": "list", "placement": "bottom", "showLegend": True},
    },
    Kind.LINES: {
        "legend": {"displayMode": "list", "placement": "bottom", "showLegend": True},
        "tooltip": {"mode": "multi", "sort": "desc"},
    },
}
