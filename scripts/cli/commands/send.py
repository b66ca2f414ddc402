"""`hifi send`."""

from pathlib import Path
from typing import Annotated

import typer
import uvloop

from scripts.cli.commands.options import DATA_DEFAULT, Data
from scripts.load.event_files import STANDARD_INPUT, FileEvents, StampedEvents, raw_events
from scripts.load.event_source import EventSource
from scripts.load.piped_events import PipedEvents
from scripts.load.run_id import new_run_id
from scripts.load.schedule import Schedule
from scripts.load.telemetry import Telemetry
from scripts.load.watch_sender import SendOptions, SendResult, watch_sender
from scripts.local.client.connection import collect_url
from scripts.terminal import INTERRUPTED, REFUSED
from shared.runtime.errors import UsageError


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
    """Send events to hifi at a steady rate, and report exactly which were acknowledged.

    A request that fails (503, 429, a broken connection) is repeated until it is settled, so an event may
    arrive twice but none is forgotten. A pipe is read as it is written. Exit status 1 if an event was refused
    or not acknowledged, 130 if it was interrupted before the end of a file.
    """
    if not key:
        raise UsageError("no write key: give --key, or set HIFI_KEY in the environment")
    if file is None and seconds is None:
        raise UsageError("generated telemetry has no end: give --seconds, or a FILE")
    schedule = Schedule(rate=rate, batch=batch, seconds=seconds)
    source = Telemetry(new_run_id(), seed) if file is None else _from_file(file, schedule, stamp=stamp)
    load = SendOptions(
        url=url or collect_url(data),
        key=key,
        source=source,
        schedule=schedule,
        connections=connections,
        patience=patience,
        acked=acked,
        total=_total(file, schedule),
    )
    result = uvloop.run(watch_sender(load))
    if isinstance(source, PipedEvents) and source.problem is not None:
        raise source.problem
    if result is not SendResult.ALL_ACKNOWLEDGED:
        raise typer.Exit(INTERRUPTED if result is SendResult.INTERRUPTED else REFUSED)


def _from_file(file: Path, schedule: Schedule, *, stamp: bool) -> EventSource:
    if schedule.seconds is not None:
        return StampedEvents(list(raw_events(file)), new_run_id(), rounds=None)
    if stamp:
        return StampedEvents(list(raw_events(file)), new_run_id(), rounds=1)
    return FileEvents(raw_events(file)) if _is_stored(file) else PipedEvents(raw_events(file))


def _is_stored(file: Path) -> bool:
    """Whether a file can be read more than once, unlike a pipe or a terminal."""
    return file != STANDARD_INPUT and file.is_file()


def _total(file: Path | None, schedule: Schedule) -> int | None:
    """Number of events, for the progress bar; None if it is not known in advance."""
    if schedule.seconds is not None:
        return None if schedule.rate is None else round(schedule.rate * schedule.seconds)
    return sum(1 for _ in raw_events(file)) if file is not None and _is_stored(file) else None
