"""`hifi send`."""

from pathlib import Path
from typing import Annotated

import typer
import uvloop

from scripts.config.connection import NotRunningError, side_url
from scripts.console import REFUSED, USAGE, fail
from scripts.load.event_files import FileError, Once, Stamped, raw_events
from scripts.load.run_name import run_name
from scripts.load.schedule import Schedule
from scripts.load.supply import Supply
from scripts.load.telemetry import Telemetry
from scripts.load.watch import Load, watch_sender
from scripts.verbs.options import DATA_DEFAULT, Data


def send(  # noqa: PLR0913, PLR0917 one a command-line option
    file: Annotated[
        Path | None,
        typer.Argument(
            help="NDJSON or JSON, plain or gzip, - for standard input; without it, generated telemetry.",
        ),
    ] = None,
    key: Annotated[str, typer.Option(envvar="HIFI_KEY", help="Write key of the source.")] = "",
    rate: Annotated[
        float | None, typer.Option(min=0.001, help="Events per second. Default: all it takes.")
    ] = None,
    batch: Annotated[int, typer.Option(min=1, max=10_000, help="Events in a request.")] = 100,
    seconds: Annotated[
        float | None, typer.Option(min=0.001, help="How long; a file is repeated, stamped.")
    ] = None,
    stamp: Annotated[
        bool, typer.Option("--stamp", help="Give each event a new id and the time it is sent.")
    ] = False,
    acked: Annotated[
        Path | None, typer.Option(help="Append `id, acked_ms` of acknowledged events (TSV).")
    ] = None,
    url: Annotated[str | None, typer.Option(help="Base URL of collect. Default: the local side's.")] = None,
    connections: Annotated[int, typer.Option(min=1, max=1_000, help="Requests in flight at most.")] = 64,
    patience: Annotated[float, typer.Option(min=0, help="Seconds for which a request is tried again.")] = 120,
    seed: Annotated[int, typer.Option(help="Of generated telemetry.")] = 0,
    data: Data = DATA_DEFAULT,
) -> None:
    """Send events to hifi at a steady rate, and say exactly which were acknowledged.

    A request that fails (503, 429, a broken connection) is sent again until it is settled, so an event may
    arrive twice but none is forgotten. Exit status 1 if an event was refused or stayed unacknowledged.
    """

    if not key:
        fail("a write key is needed: --key, or HIFI_KEY in the environment", status=USAGE)
    if file is None and seconds is None:
        fail("generated telemetry has no end: give --seconds (or a FILE)", status=USAGE)
    try:
        load = Load(
            url=url or side_url(data),
            key=key,
            supply=_supply(file, stamp=stamp, repeat=seconds is not None, seed=seed),
            schedule=Schedule(rate=rate, batch=batch, seconds=seconds),
            connections=connections,
            patience=patience,
            acked=acked,
        )
        complete = uvloop.run(watch_sender(load))
    except (NotRunningError, FileError, OSError) as error:
        fail(str(error))
    if not complete:
        raise typer.Exit(REFUSED)


def _supply(file: Path | None, *, stamp: bool, repeat: bool, seed: int) -> Supply:

    if file is None:
        return Telemetry(run_name(), seed)
    if stamp or repeat:
        return Stamped(list(raw_events(file)), run_name(), rounds=None if repeat else 1)
    return Once(raw_events(file))
