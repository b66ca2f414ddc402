"""`hifi destinations`."""

from typing import Annotated

import msgspec
import typer
from rich.text import Text

from scripts.cli.commands.options import DATA_DEFAULT, Data
from scripts.documents.topic import read_catalogue
from scripts.local.connection import side_bootstrap
from scripts.outlook.look import look
from scripts.outlook.state import Outlook, State
from scripts.terminal import err, harmless, out, plain_table
from scripts.time_args import length
from shared.contracts.cut import cut
from shared.kafka.errors import kafka_errors_explained
from shared.runtime.clock import wall_clock
from shared.runtime.errors import OperatorError

_STYLES = {"closed": "green", "half_open": "yellow", "open": "red", "fast": "green", "slow": "yellow"}


def destinations(
    name: Annotated[str | None, typer.Argument(help="Only this one.")] = None,
    minutes: Annotated[float, typer.Option(min=0.1, max=1_440, help="How far back receipts count.")] = 5.0,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    data: Data = DATA_DEFAULT,
) -> None:
    """Show how each destination is doing: breaker, lane, rate, success, last error, and what waits for it."""
    bootstrap = side_bootstrap(data)
    with kafka_errors_explained(bootstrap):
        found = look(bootstrap, read_catalogue(bootstrap), wall_clock(), minutes * 60)
    if name is not None:
        chosen = [one for one in found.destinations if one.name == name]
        if not chosen:
            raise OperatorError(f"there is no destination {name!r}", "`hifi destinations` lists them")
        found = msgspec.structs.replace(found, destinations=chosen)
    if as_json:
        typer.echo(msgspec.json.format(msgspec.json.encode(found), indent=2))
    else:
        _show(found)


def _show(found: Outlook) -> None:
    table = plain_table(
        "DESTINATION", "BREAKER", "LANE", "EVENTS/S", "SUCCESS", "WAITING", "OLDEST", "LAST ERROR"
    )
    for one in found.destinations:
        table.add_row(
            Text(harmless(one.name)),
            _styled(one.breaker),
            _styled(one.lane),
            f"{one.events_per_second:,.1f}",
            "-" if one.success is None else _share(one.success),
            ("~" if found.waiting_sampled and one.waiting else "") + f"{one.waiting:,}",
            _age(one.oldest_waiting_ms, found.at_ms),
            _error(one, found.at_ms),
        )
    if found.destinations:
        out().print(table)
    else:
        out().print("there is no destination yet: `hifi apply FILE`")
    err().print(f"[dim]{_footer(found)}[/]")


def _styled(word: str | None) -> Text:
    return Text(word or "-", style=_STYLES.get(word or "", "dim"))


def _share(success: float) -> str:
    """Never 100 % where something failed."""
    percent = f"{cut(success * 100, 1)} %"
    return ">99.9 %" if success < 1 and percent == "100.0 %" else percent


def _age(at_ms: int | None, now_ms: int) -> str:
    return "-" if at_ms is None else length((now_ms - at_ms) / 1000)


def _error(one: State, now_ms: int) -> Text:
    if one.last_error is None:
        return Text("-", style="dim")
    text = f"{harmless(one.last_error)} ({_age(one.last_error_ms, now_ms)} ago)"
    return Text(text, no_wrap=True, overflow="ellipsis")


def _footer(found: Outlook) -> str:
    parts = [f"receipts of the last {length(found.window_seconds)}"]
    if found.receipts_sampled:
        parts.append("no longer, because there are so many")
    if found.waiting_sampled:
        parts.append("~ is estimated from a sample of what waits")
    return "; ".join(parts)
