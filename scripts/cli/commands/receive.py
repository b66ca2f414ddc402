"""`hifi receive`."""

from pathlib import Path
from typing import Annotated

import typer
import uvloop

from scripts.load.fault_injection import parse_rules
from scripts.load.receiver import Receiver
from scripts.load.watch_receiver import watch_receiver
from shared.runtime.errors import OperatorError


def receive(
    port: Annotated[int, typer.Option("--port", "-p", help="Port to listen on; 0 picks a free one.")] = 9000,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    out: Annotated[
        Path | None, typer.Option(help="Append `id, received_ms, lag_ms` of each arrival to this file (TSV).")
    ] = None,
    misbehave: Annotated[
        list[str] | None,
        typer.Option(
            "--misbehave",
            "-m",
            metavar="RULE",
            help="Repeatable: 503=10%, 429:2s=5% (with Retry-After), delay:3s=5%, hang=1%, reset=1%.",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Of the choice which requests are misbehaved on.")] = 0,
) -> None:
    """Be a destination: accept events, record ids and lags, and misbehave on request.

    Takes CloudEvents (batch, structured, binary), NDJSON and JSON arrays at any path. Ctrl-C or SIGTERM
    writes everything down and ends it.
    """
    try:
        receiver = Receiver(port, host=host, out=out, misbehaviour=parse_rules(misbehave or []), seed=seed)
        uvloop.run(watch_receiver(receiver))
    except OSError as error:
        raise OperatorError(f"cannot receive on port {port}: {error.strerror or error}") from error
