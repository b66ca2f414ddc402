"""`hifi trace`."""

from typing import Annotated

import msgspec
import typer
from rich.text import Text

from scripts.cli.commands.options import DATA_DEFAULT, Data
from scripts.scorecard import formatting
from scripts.scorecard.observe_client import in_path, observe_url, query_observe
from scripts.terminal import err, out, plain_table, printable
from scripts.time_args import duration_text, moment_ms
from shared.contracts.scorecard import ALL_TENANTS, EventLocation, EventSearch
from shared.runtime.clock import wall_clock
from shared.runtime.errors import OperatorError, UsageError


def trace(
    event_id: Annotated[str, typer.Argument(metavar="EVENT_ID", help="The event's id.")],
    tenant: Annotated[str, typer.Option(help="Only this customer's; * is all customers.")] = ALL_TENANTS,
    since: Annotated[str, typer.Option(help="How far back to search: 90s, 2h, 3d, or an ISO time.")] = "1h",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    data: Data = DATA_DEFAULT,
) -> None:
    """Show each place where an event was, with the time, and where it is now."""
    try:
        now_ms = wall_clock()
        seconds = max(1, (now_ms - moment_ms(since, now_ms)) // 1_000)
    except ValueError as error:
        raise UsageError(f"--since: {error}") from error
    path = f"/v1/events/{in_path(event_id)}"
    found = query_observe(observe_url(data), path, EventSearch, tenant=tenant, since=seconds)
    if not found.complete:
        err().print("[yellow]only the newest records were searched[/]: there are more than one search reads")
    if not found.places:
        fix = "check the id, and --tenant if given"
        further = f"search further back with --since; {fix}" if found.complete else fix
        raise OperatorError(f"no record of {event_id!r} in the last {duration_text(seconds)}", further)
    if as_json:
        typer.echo(msgspec.json.format(msgspec.json.encode(found.places), indent=2))
    else:
        _show(found.places)


def _show(places: list[EventLocation]) -> None:
    table = plain_table("TIME (UTC)", "AFTER", "NODE", "PIPE", "RECORD", "WHAT")
    first_ms = places[0].at_ms
    for place in places:
        table.add_row(
            formatting.clock(place.at_ms),
            formatting.milliseconds(place.at_ms - first_ms),
            Text(place.node),
            Text(printable(place.pipe or formatting.NONE)),
            f"{place.topic}/{place.partition}/{place.offset}",
            Text(printable(place.text or formatting.NONE)),
        )
    out().print(table)
    err().print(f"[dim]now: {printable(_now(places[-1]))}[/]")


def _now(last: EventLocation) -> str:
    where = f" at {last.destination}" if last.destination else ""
    return f"{last.result or last.topic}{where}"
