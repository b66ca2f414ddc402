"""`hifi scorecard`."""

from datetime import UTC, datetime
from typing import Annotated, Final

import msgspec
import typer
from rich.table import Table
from rich.text import Text

from scripts.cli.commands.options import DATA_DEFAULT, Data
from scripts.scorecard import formatting
from scripts.scorecard.observe_client import in_path, observe_url, query_observe
from scripts.terminal import err, out, plain_table, printable
from shared.contracts.scorecard import ALL_TENANTS, DayCard
from shared.runtime.clock import wall_clock

_SHOWN_MINUTES: Final = 20


def scorecard(
    day: Annotated[str | None, typer.Option(help="YYYY-MM-DD, UTC.", show_default="today")] = None,
    tenant: Annotated[str, typer.Option(help="Only this customer's; * is all customers.")] = ALL_TENANTS,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    data: Data = DATA_DEFAULT,
) -> None:
    """Show a day: lags, losses, and the minutes that broke a promise with their reasons."""
    wanted = day or datetime.fromtimestamp(wall_clock() / 1_000, UTC).date().isoformat()
    card = query_observe(observe_url(data), f"/v1/days/{in_path(wanted)}", DayCard, tenant=tenant)
    if as_json:
        typer.echo(msgspec.json.format(msgspec.json.encode(card), indent=2))
    else:
        _show(card)


def _show(card: DayCard) -> None:
    who = "all customers" if card.tenant == ALL_TENANTS else printable(card.tenant)
    figures = plain_table("", "")
    figures.show_header = False
    for name, value in _figures(card):
        figures.add_row(Text(name, style="dim"), Text(value))
    out().print(f"[bold]{card.day}[/] (UTC), {who}")
    out().print(figures)
    if card.hops:
        out().print(_hops(card))
    _show_spent(card)
    err().print("[dim]minutes that are not judged yet can still change; `hifi trace ID` follows one event[/]")


def _figures(card: DayCard) -> list[tuple[str, str]]:
    return [
        ("promise", f"{formatting.nines(card.nines)}; {formatting.promise(card)}"),
        ("events", f"{card.collected:,} collected, {card.late:,} late, {card.unmatched:,} for no pipe"),
        ("deliveries", f"{card.total:,} owed, {card.delivered:,} made, {card.good:,} within a second"),
        ("open", f"{card.waiting:,} waiting, {card.dead:,} dead letters, {card.quarantined:,} quarantined"),
        ("loss", f"{card.lost:,} events, {formatting.percent(card.loss_percent)}"),
        ("again", f"{card.doubled:,} sent twice, {card.replayed:,} replayed after a rollback"),
        ("inside hifi", formatting.percentiles(card.inside)),
        ("end to end", formatting.percentiles(card.end_to_end)),
    ]


def _hops(card: DayCard) -> Table:
    table = plain_table("HOP", "TAKEN", "GIVEN", "LOST", "DOUBLED", "DROPPED", "WAITING", "DEAD", "LOSS")
    for row in card.hops:
        counts = (row.taken, row.given, row.lost, row.doubled, row.dropped, row.waiting, row.dead)
        table.add_row(
            Text(printable(formatting.hop(row))),
            *(f"{count:,}" for count in counts),
            formatting.percent(row.lost_percent),
        )
    return table


def _show_spent(card: DayCard) -> None:
    for spent in card.spent[:_SHOWN_MINUTES]:
        why = "; ".join(spent.why)
        out().print(Text(f"{formatting.minute(spent.minute)}  {printable(why)}", style="yellow"))
    if len(card.spent) > _SHOWN_MINUTES:
        out().print(f"and {len(card.spent) - _SHOWN_MINUTES} more minutes; --json lists all")
