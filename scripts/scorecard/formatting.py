"""Formats figures of scorecards. Pure."""

from datetime import UTC, datetime
from typing import Final

from shared.contracts.counts import BUDGET_MINUTES
from shared.contracts.cut import cut
from shared.contracts.envelope import MINUTE_MS
from shared.contracts.scorecard import DayCard, HopRow, Percentiles

NONE: Final = "-"


def clock(at_ms: int) -> str:
    """The time of day, UTC, to the millisecond."""
    return datetime.fromtimestamp(at_ms / 1_000, UTC).strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]


def minute(epoch_minute: int) -> str:
    """The minute of the day, UTC."""
    return datetime.fromtimestamp(epoch_minute * MINUTE_MS / 1_000, UTC).strftime("%H:%M")


def milliseconds(lag: float | None) -> str:
    """A lag."""
    return NONE if lag is None else f"{lag:,.0f} ms"


def percentiles(lags: Percentiles) -> str:
    """p50, p95 and p99 in a line."""
    named = {"p50": lags.p50, "p95": lags.p95, "p99": lags.p99}
    return ", ".join(f"{name} {milliseconds(lag)}" for name, lag in named.items())


def percent(value: float) -> str:
    """A percentage; small ones are shown as `<0.01 %`, not as zero."""
    text = f"{value:.2f} %"
    return "<0.01 %" if value > 0 and text == "0.00 %" else text


def nines(value: float | None) -> str:
    """Nines of a day."""
    return NONE if value is None else "no minute spent" if value >= 9 else f"{cut(value, 1)} nines"


def promise(card: DayCard) -> str:
    """The rest of the day's budget."""
    if not card.minutes:
        return "no minute judged yet"
    return f"{card.left:.2f} of {BUDGET_MINUTES:g} minutes left"


def hop(row: HopRow) -> str:
    """The name of a row of the loss table; of all tenants, with that of the pipe."""
    return f"{row.node} > {row.full_pipe}" if row.pipe else str(row.node)
