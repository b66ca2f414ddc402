"""hifi's dashboard: the console's charts for operators, and what each process costs."""

from typing import Any, Final

from scripts.dashboard.events import events_rows
from scripts.dashboard.grafana import Choice, Kind, Panel, Query, Row, Step, Unit, dashboard
from scripts.dashboard.processes import process_rows
from scripts.dashboard.promql import series, total
from shared.contracts.scorecard import ALL_TENANTS
from shared.runtime.metrics import ObserveMetric

TENANT: Final = Choice(
    name="tenant", title="Tenant", metric=ObserveMetric.EVENTS_PER_SECOND, first=ALL_TENANTS
)
_ANY: Final = (Step(value=1, colour="red"),)
_LATE: Final = (Step(value=2_000, colour="orange"), Step(value=10_000, colour="red"))
_OLD: Final = (Step(value=60, colour="orange"), Step(value=300, colour="red"))
_LOST: Final = (Step(value=0.000_1, colour="red"),)


def hifi() -> dict[str, Any]:
    """The dashboard's JSON model."""
    rows = (_now(), *events_rows(), *process_rows())
    return dashboard(uid="hifi", title="hifi", choices=(TENANT,), rows=rows)


def _now() -> Row:
    mine = {"tenant": "$tenant"}
    rate = series(ObserveMetric.EVENTS_PER_SECOND, **mine)
    p95 = series(ObserveMetric.END_TO_END, **mine, quantile="0.95")
    loss = series(ObserveMetric.LOSS_PERCENT, **mine)
    nines = series(ObserveMetric.NINES, **mine)
    spent = series(ObserveMetric.MINUTES_SPENT, **mine)
    alarms = total(series(ObserveMetric.OPEN_ALARMS))
    behind = series(ObserveMetric.BEHIND_SECONDS)
    panels = (
        _number("Events", "That came in, over the last whole minute.", Unit.EVENTS_PER_SECOND, rate),
        _number("p95 end to end", "Of the last whole minute.", Unit.MILLISECONDS, p95, _LATE),
        _number("Lost", "Of today's deliveries owed.", Unit.PERCENT, loss, _LOST),
        _number("Nines", "Today's: three of them are 1.44 minutes spent a day.", Unit.NINES, nines),
        _number("Minutes spent", "Today's that broke a promise.", Unit.MINUTES, spent, _ANY),
        _number("Open alarms", "The console tells what they say.", Unit.ALARMS, alarms, _ANY),
        _number("Meter behind", "How much older than now these figures are.", Unit.SECONDS, behind, _OLD),
    )
    return Row(title="Now", panels=panels)


def _number(title: str, text: str, unit: Unit, expression: str, steps: tuple[Step, ...] = ()) -> Panel:
    return Panel(
        title=title,
        text=text,
        unit=unit,
        queries=(Query(expression, title),),
        kind=Kind.NUMBER,
        width=3,
        height=4,
        decimals=None if unit in (Unit.ALARMS, Unit.MINUTES) else 2,
        steps=steps,
    )
