"""`python -m scripts.experiments.noisy_neighbour`: the cost of four bad destinations for sixteen good ones.

It runs on a side of its own. One bad destination hangs, one responds after three seconds, one resets every
connection, one answers 503. Phases with and without them alternate on one warm side, so that a slow minute
affects both: without, with, with, without, and so on. A first phase of each kind does not count.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import msgspec
import typer

from scripts.experiments.harness.output import report, say, writable, write_json
from scripts.experiments.harness.pairs import in_turns, ratios_text
from scripts.experiments.harness.runs import Load
from scripts.experiments.harness.side import RunningChain, hifi
from scripts.experiments.noisy_neighbour import documents
from scripts.experiments.noisy_neighbour.bounds import lag_bounds, leak_bounds
from scripts.experiments.noisy_neighbour.destinations import Destinations, running
from scripts.experiments.noisy_neighbour.measure import IsolationPhase, measure
from scripts.local.client.documents import documents_of
from scripts.local.ports import free_base
from scripts.local.side import Side
from scripts.terminal import run_command

_LIVE_SECONDS = 15.0
_COLD_SECONDS = 40.0


APP = typer.Typer(add_completion=False, no_args_is_help=True)
Rate = Annotated[int, typer.Option(min=1, help="Events per second, each to every destination.")]
PerRequest = Annotated[int, typer.Option(min=1, help="Events per request to collect.")]
Out = Annotated[Path, typer.Option(callback=writable, help="JSON file of all figures.")]


@APP.command()
def lags(
    rate: Rate = 20,
    batch: PerRequest = 5,
    seconds: Annotated[float, typer.Option(min=10, help="Seconds of each phase.")] = 45.0,
    pairs: Annotated[
        int, typer.Option(min=1, help="Pairs of phases, without and with the bad destinations.")
    ] = 6,
    out: Out = Path("isolation.json"),
) -> None:
    """Measure p95 of 16 good destinations without and with four bad ones.

    Exit status 1 if p95 with them is more than 25 % higher, or an event did not arrive at a good one.
    """
    load = Load(rate=rate, batch=batch, seconds=seconds)
    phases: list[IsolationPhase] = []
    with _side() as (chain, destinations):
        for bad in (False, True):  # first runs are slower; those with the bad ones come last
            _phase(chain, msgspec.structs.replace(load, seconds=_COLD_SECONDS), destinations, bad=bad)
        without, beside = (
            lambda _, bad=bad: _phase(chain, load, destinations, bad=bad) for bad in (False, True)
        )
        for pair in in_turns(pairs, without, beside):
            phases += pair
            say(f"p95 {pair[0].lag.p95:.0f} -> {pair[1].lag.p95:.0f} ms")
            write_json(out, phases)
    ratios = [bad.lag.p95 / good.lag.p95 for good, bad in zip(phases[::2], phases[1::2], strict=True)]
    typer.echo(f"p95 beside the bad four: {ratios_text(ratios)}")
    report(lag_bounds(phases))


@APP.command()
def leaks(
    rate: Rate = 20,
    batch: PerRequest = 5,
    seconds: Annotated[float, typer.Option(min=60, help="Seconds with the bad destinations.")] = 600.0,
    out: Out = Path("leaks.json"),
) -> None:
    """Measure what Spark's Python processes hold with four bad destinations, at first and at last.

    Exit status 1 if they hold a quarter more at last, or an event did not arrive at a good one.
    """
    with _side() as (chain, destinations):
        found = _phase(chain, Load(rate=rate, batch=batch, seconds=seconds), destinations, bad=True)
        write_json(out, [found])
    report(leak_bounds(found))


@contextmanager
def _side() -> Iterator[tuple[RunningChain, Destinations]]:
    """A warm side with the good destinations."""
    with TemporaryDirectory(prefix="hifi-iso-") as folder, running() as destinations:
        side = Side(root=Path(folder, "side"), port=free_base())
        with hifi(side, f"{destinations.url}/bench") as chain:
            documents.put(documents_of(side), destinations.url)
            time.sleep(_LIVE_SECONDS)
            yield chain, destinations


def _phase(chain: RunningChain, load: Load, destinations: Destinations, *, bad: bool) -> IsolationPhase:
    of_side = documents_of(chain.side)
    if bad:
        documents.put_bad(of_side, destinations.url)
    else:
        documents.remove_bad(of_side)
    time.sleep(_LIVE_SECONDS)
    before = dict(destinations.requests)
    found = measure(chain, load, destinations.port, bad=bad)
    asked = {name: count - before[name] for name, count in destinations.requests.items()}
    found = msgspec.structs.replace(found, bad_requests=asked)
    say(f"{'with' if bad else 'without'} the bad four: {msgspec.json.encode(found).decode()}")
    return found


if __name__ == "__main__":
    run_command(APP)
