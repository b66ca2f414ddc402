"""`make dashboard`: writes infra/dashboards; a test compares the files with this package."""

import json
import sys
from pathlib import Path
from typing import Any, Final

import yaml

from scripts.dashboard.alerts import rules
from scripts.dashboard.events import events_rows
from scripts.dashboard.grafana import Kind, Panel, Query, Row, Threshold, Unit, Variable, dashboard
from scripts.dashboard.processes import process_rows
from scripts.dashboard.promql import series, total
from scripts.dashboard.scrape import local, pod_monitor
from scripts.local.side import Side
from shared.contracts.scorecard import ALL_TENANTS
from shared.runtime.metrics import ObserveMetric

FOLDER: Final = Path(__file__).parents[2] / "infra" / "dashboards"

_HEAD: Final = "# Written by `make dashboard`.\n"

TENANT: Final = Variable(
    name="tenant", title="Tenant", metric=ObserveMetric.EVENTS_PER_SECOND, first=ALL_TENANTS
)
_ANY: Final = (Threshold(value=1, colour="red"),)
_LATE: Final = (Threshold(value=2_000, colour="orange"), Threshold(value=10_000, colour="red"))
_OLD: Final = (Threshold(value=60, colour="orange"), Threshold(value=300, colour="red"))
_LOST: Final = (Threshold(value=0.000_1, colour="red"),)


def files() -> dict[str, str]:
    """Name and text of each file."""
    return {
        "hifi.json": json.dumps(hifi(), indent=2) + "\n",
        "prometheus-local.yml": _yaml(local(Side(root=Path()))),
        "pod-monitor.yml": _yaml(pod_monitor()),
        "alert-rules.yml": _yaml(rules()),
        "kustomization.yaml": _yaml(_kustomization()),
    }


def _kustomization() -> dict[str, Any]:
    """The kustomization that a release applies in a cluster; Grafana loads ConfigMaps with this label."""
    return {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": ["pod-monitor.yml", "alert-rules.yml"],
        "configMapGenerator": [
            {
                "name": "dashboard",
                "files": ["hifi.json"],
                "options": {"disableNameSuffixHash": True, "labels": {"grafana_dashboard": "1"}},
            }
        ],
    }


def _yaml(value: dict[str, Any]) -> str:
    return _HEAD + yaml.safe_dump(value, sort_keys=False)


def hifi() -> dict[str, Any]:
    """The JSON model of the dashboard: the console's charts, and the cost of each process."""
    rows = (_overview(), *events_rows(), *process_rows())
    return dashboard(uid="hifi", title="hifi", choices=(TENANT,), rows=rows)


def _overview() -> Row:
    mine = {"tenant": "$tenant"}
    rate = series(ObserveMetric.EVENTS_PER_SECOND, **mine)
    p95 = series(ObserveMetric.END_TO_END, **mine, quantile="0.95")
    loss = series(ObserveMetric.LOSS_PERCENT, **mine)
    nines = series(ObserveMetric.NINES, **mine)
    spent = series(ObserveMetric.MINUTES_SPENT, **mine)
    alarms = total(series(ObserveMetric.OPEN_ALARMS))
    behind = series(ObserveMetric.BEHIND_SECONDS)
    panels = (
        _number("Events", "Received in the last whole minute.", Unit.EVENTS_PER_SECOND, rate),
        _number("p95 end to end", "Over the last whole minute.", Unit.MILLISECONDS, p95, _LATE),
        _number("Lost", "Share of today's owed deliveries.", Unit.PERCENT, loss, _LOST),
        _number("Nines", "Today's. Three nines allow 1.44 spent minutes a day.", Unit.NINES, nines),
        _number("Minutes spent", "Minutes of today that broke a promise.", Unit.MINUTES, spent, _ANY),
        _number("Open alarms", "The console shows their text.", Unit.ALARMS, alarms, _ANY),
        _number("Meter behind", "Age of these figures.", Unit.SECONDS, behind, _OLD),
    )
    return Row("Now", panels)


def _number(
    title: str, text: str, unit: Unit, expression: str, thresholds: tuple[Threshold, ...] = ()
) -> Panel:
    return Panel(
        title,
        text,
        unit,
        (Query(expression, title),),
        kind=Kind.NUMBER,
        width=3,
        height=4,
        decimals=None if unit in (Unit.ALARMS, Unit.MINUTES) else 2,
        thresholds=thresholds,
    )


def main() -> int:
    """Write the files; returns the exit status."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, text in files().items():
        (FOLDER / name).write_text(text)
        sys.stdout.write(f"{FOLDER / name}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
