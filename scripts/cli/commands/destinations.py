"""`hifi destinations`."""

from typing import Annotated

import msgspec
import typer
from rich.text import Text

from scripts.cli.commands.options import DATA_DEFAULT, Data
from scripts.scorecard.observe_client import observe_url, query_observe
from scripts.terminal import err, out, plain_table, printable
from scripts.time_args import duration_text
from shared.contracts.cut import cut
from shared.contracts.destination_health import DestinationHealth
from shared.contracts.scorecard import ALL_TENANTS
from shared.runtime.clock import wall_clock
from shared.runtime.errors import OperatorError

_STYLES = {"closed": "green", "half_open": "yellow", "open": "red", "fast": "green", "slow": "yellow"}
_STYLES |= {"good": "green", "failing": "yellow", "down": "red"}


def destinations(
    name: Annotated[str | None, typer.Argument(help="Only this destination.")] = None,
    tenant: Annotated[str, typer.Option(help="Only this customer's; * is all customers.")] = ALL_TENANTS,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    data: Data = DATA_DEFAULT,
) -> None:
    """Show the health of each destination: breaker, lane, rate, success, last error and waiting events."""
    known = query_observe(observe_url(data), "/v1/destinations", list[DestinationHealth], tenant=tenant)
    chosen = [each for each in known if name in (None, each.name)]
    if name is not None and not chosen:
        raise OperatorError(f"no destination {name!r} is published", "`hifi destinations` lists them")
    if as_json:
        typer.echo(msgspec.json.format(msgspec.json.encode(chosen), indent=2))
    else:
        _show(chosen, wall_clock())


def _show(chosen: list[DestinationHealth], now_ms: int) -> None:
    if not chosen:
        out().print("no destination is published yet: `hifi apply FILE` publishes one")
        return
    table = plain_table(
        "DESTINATION",
        "TENANT",
        "HEALTH",
        "BREAKER",
        "LANE",
        "EVENTS/S",
        "SUCCESS",
        "WAITING",
        "OLDEST",
        "LAST ERROR",
    )
    for each in chosen:
        table.add_row(
            Text(printable(each.name)),
            Text(printable(each.tenant)),
            *(_styled(word) for word in (each.health, each.breaker, each.lane)),
            f"{each.events_per_second:,.1f}",
            "-" if each.success is None else _share(each.success),
            f"{each.waiting:,}",
            _age(each.oldest_waiting_ms, now_ms),
            _error(each, now_ms),
        )
    out().print(table)
    err().print(
        f"[dim]over the last {duration_text(chosen[0].window_seconds)}; waiting events are of any age[/]"
    )


def _styled(word: str) -> Text:
    return Text(word or "-", style=_STYLES.get(word, "dim"))


def _share(success: float) -> str:
    """Never 100 % if anything failed."""
    percent = f"{cut(success * 100, 1)} %"
    return ">99.9 %" if success < 1 and percent == "100.0 %" else percent


def _age(at_ms: int | None, now_ms: int) -> str:
    return "-" if at_ms is None else duration_text((now_ms - at_ms) / 1000)


def _error(each: DestinationHealth, now_ms: int) -> Text:
    if not each.last_error:
        return Text("-", style="dim")
    text = f"{printable(each.last_error)} ({_age(each.last_error_ms, now_ms)} ago)"
    return Text(text, no_wrap=True, overflow="ellipsis")
