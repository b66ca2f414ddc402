"""The demo's screen: a live table, and a summary."""

from msgspec import Struct
from rich import box
from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from scripts.demo.account import PipeResult
from scripts.load.lags import LagSnapshot

_WIDTH = 80
_COLUMNS = ("events/s", "p50", "p95", "sent", "acknowledged", "delivered", "on the way", "lost", "duplicated")


class DemoState(Struct, frozen=True, kw_only=True):
    """Figures of the demo at one time."""

    second: float
    seconds: float
    rate: float
    """Delivered events per second since the last figures."""

    lag: LagSnapshot
    """Since the last figures."""

    sent: int
    acked: int
    delivered: int
    on_the_way: int
    lost: int
    """Acknowledged long ago and not delivered; the end shows whether they wait for a retry."""

    duplicated: int


def _cells(moment: DemoState) -> list[Text]:
    lag = moment.lag
    return [
        Text(f"{moment.rate:,.0f}", "bold"),
        lag_cell(lag.p50),
        lag_cell(lag.p95),
        Text(f"{moment.sent:,}"),
        Text(f"{moment.acked:,}"),
        Text(f"{moment.delivered:,}", "green"),
        Text(f"{moment.on_the_way:,}"),
        count(moment.lost, "bold red"),
        count(moment.duplicated, "yellow"),
    ]


def lag_cell(value: int | None) -> Text:
    """A lag, green up to the promised second, red beyond it."""
    if value is None:
        return Text("-", "dim")
    text = f"{value} ms" if value < 1_000 else f"{value / 1_000:.2f} s"
    return Text(text, "green" if value <= 1_000 else "red")


def count(value: int, style: str) -> Text:
    """A number that should be 0, coloured if it is not."""
    return Text(f"{value:,}", style if value else "green")


def live_table(moment: DemoState) -> RenderableType:
    """The table on a terminal while events flow; 60 columns wide."""
    cells = dict(zip(_COLUMNS, _cells(moment), strict=True))
    left = [("events/s", "events/s"), ("lag p50", "p50"), ("lag p95", "p95")]
    right = ("sent", "acknowledged", "delivered", "on the way", "lost", "duplicated")
    table = Table.grid(padding=(0, 3, 0, 0))
    for width in (8, 12, 12, 12):
        table.add_column(min_width=width, justify="left" if width == 8 else "right")
    table.columns[2].justify = "left"
    for row in range(len(right)):
        name, column = left[row] if row < len(left) else ("", "")
        table.add_row(
            Text(name, "dim"), cells.get(column, Text()), Text(right[row], "dim"), cells[right[row]]
        )
    bar = ProgressBar(total=moment.seconds, completed=min(moment.second, moment.seconds), width=53)
    over = moment.second >= moment.seconds
    head = "waiting for the rest" if over else f"sending, {moment.second:.0f} of {moment.seconds:.0f} s"
    return Panel(Group(table, Text(), bar), title=head, border_style="dim", expand=False, padding=(1, 2))


def line(moment: DemoState) -> Text:
    """The same figures as one line, for a log."""
    parts = [Text(f"{moment.second:5.0f} s", "dim")]
    for name, cell in zip(_COLUMNS, _cells(moment), strict=True):
        parts.append(
            Text.assemble(cell, f" {name}") if name == "events/s" else Text.assemble(f"{name} ", cell)
        )
    return Text("  ").join(parts)


def pipes_table(results: list[PipeResult]) -> Table:
    """Expected and delivered events of each pipe."""
    table = Table(box=box.SIMPLE_HEAD, header_style="bold dim", pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("pipe", no_wrap=True)
    for name in ("expected", "delivered", "missing", "doubled", "p50", "p95"):
        table.add_column(name, justify="right", no_wrap=True)
    for each in results:
        table.add_row(
            each.pipe.what,
            "-" if each.expected is None else f"{each.expected:,}",
            Text(f"{each.delivered:,}", "green"),
            Text("-", "dim") if each.expected is None else count(len(each.missing), "bold red"),
            count(each.duplicated, "yellow"),
            lag_cell(each.lag.p50),
            lag_cell(each.lag.p95),
        )
    return table


class DemoTotals(Struct, frozen=True, kw_only=True):
    """Totals at the end of the demo."""

    sent: int
    acked: int
    refused: int
    unacknowledged: int
    waiting: int
    """Not delivered, but in a retry topic or in `dead_letter`."""

    on_the_way: int
    """Neither delivered nor waiting, but the side has not read all of its records."""

    lost: int
    seconds: float

    @property
    def good(self) -> bool:
        """Whether events were acknowledged, and none was lost, refused or left on the way."""
        return self.lost == self.on_the_way == self.refused == 0 and self.acked > 0


def _verdict(totals: DemoTotals) -> str:
    if totals.lost:
        return f"{totals.lost:,} deliveries were lost"
    if totals.on_the_way:
        return f"{totals.on_the_way:,} deliveries are not made yet: the side is behind"
    return "nothing was lost"


def summary(totals: DemoTotals, results: list[PipeResult]) -> RenderableType:
    """The summary at the end."""
    facts = Text.assemble(
        (f"{totals.acked:,}", "bold"),
        f" of {totals.sent:,} events were acknowledged in {totals.seconds:.0f} s "
        f"({totals.acked / max(totals.seconds, 1e-9):,.0f} events/s)",
        f"; {totals.refused:,} refused, {totals.unacknowledged:,} without a response"
        if totals.refused or totals.unacknowledged
        else "",
        f"\n{totals.waiting:,} wait, with a reason, in a retry topic or in dead_letter"
        if totals.waiting
        else "",
        f"\n{totals.on_the_way:,} are not delivered yet: the side is behind; `hifi doctor` shows where"
        if totals.on_the_way
        else "",
    )
    note = Text(
        "Each pipe that takes an event delivers it once. Lag is arrival minus the event's time. Missing are "
        "acknowledged events that the pipe has not delivered. Nothing is expected where only the side knows: "
        "which heartbeats are in the 10 %, and which of your own events a pattern matches.",
        "dim",
    )
    return Panel(
        Group(facts, pipes_table(results), note),
        title=f"[bold]{_verdict(totals)}",
        border_style="green" if totals.good else "red",
        width=_WIDTH,
        padding=(1, 1),
    )
