"""`python -m scripts.experiments.configuration`: what changes and very many documents cost.

`in-force` times changes of a pipe under load, until every process uses them. `many` compares a side with and
without the documents of very many tenants: its start, changes, memory, and CPU per event.
"""

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Final

import typer
from msgspec import Struct

from scripts.experiments.configuration.changes import Change, changes, in_words
from scripts.experiments.configuration.many import await_published, tenant_names, write
from scripts.experiments.harness.bounds import Bound
from scripts.experiments.harness.measure import Bench, destination_port, destination_url
from scripts.experiments.harness.memory import resident
from scripts.experiments.harness.output import report, say, writable, write_json
from scripts.experiments.harness.percentiles import percentile
from scripts.experiments.harness.runs import Load, Run, chain_cpu
from scripts.experiments.harness.side import hifi
from scripts.local.client.documents import api_at
from scripts.local.ports import free_base
from scripts.local.side import Side
from scripts.terminal import run_command

_SEED: Final = 20261123
IN_FORCE_SECONDS: Final = 5.0
"""Limit for 95 % of changes: seconds until every node uses them."""

_MANY_IN_FORCE_SECONDS: Final = 10.0
"""The same with the documents of very many tenants."""

APP = typer.Typer(add_completion=False)

Rate = Annotated[int, typer.Option(min=1, help="Events per second.")]
Batch = Annotated[int, typer.Option(min=1, help="Events per request to collect.")]
Seconds = Annotated[float, typer.Option(min=30, help="Seconds of each load.")]
Out = Annotated[Path, typer.Option(callback=writable, help="JSON file of all figures.")]


class UnderLoad(Struct, frozen=True, kw_only=True):
    """A load, the changes made while it ran, and the memory after it."""

    run: Run
    changes: list[Change]
    megabytes: dict[str, float]
    """Resident memory by process, MiB."""

    ready_seconds: float


@APP.command("in-force")
def in_force(
    rate: Rate = 1_000, batch: Batch = 1, seconds: Seconds = 300.0, out: Out = Path("in-force.json")
) -> None:
    """Time changes of a pipe under load. Exit status 1 if p95 is above 5 s, or if an event was lost."""
    with _side() as side, _chain(side) as bench:
        found = _measured(bench, Load(rate=rate, batch=batch, seconds=seconds))
    write_json(out, found)
    typer.echo(_line("", found))
    report(bounds(found, IN_FORCE_SECONDS))


@APP.command()
def many(  # noqa: PLR0913, PLR0917 - one parameter an option
    tenants: Annotated[int, typer.Option(min=1, help="Tenants besides that of the load.")] = 1_000,
    pipes: Annotated[int, typer.Option(min=1, max=30, help="Pipes of each.")] = 10,
    rate: Rate = 1_000,
    batch: Batch = 1,
    seconds: Seconds = 120.0,
    out: Out = Path("many.json"),
) -> None:
    """Compare a side without and with the documents of many tenants, started anew with them.

    Exit status 1 if p95 until a change is in force is above 5 s without them or above 10 s with them, or if
    an event was lost.
    """
    load, names = Load(rate=rate, batch=batch, seconds=seconds), tenant_names(tenants)
    with _side() as side:
        with _chain(side) as bench, api_at(None, side.root) as api:
            few = _measured(bench, load)
            written = write(api, names, pipes, destination_url(destination_port()))
            say(f"{tenants:,} tenants with {pipes} pipes each written in {written:.0f} s")
            say(f"all of them published {await_published(api, names):.0f} s later")
        with _chain(side) as bench:
            grown = _measured(bench, load)
    write_json(out, {"few": few, "many": grown})
    typer.echo(_line("few documents: ", few))
    typer.echo(_line(f"{tenants * pipes:,} pipes: ", grown))
    typer.echo(f"memory, MiB: {_compared(few.megabytes, grown.megabytes)}")
    typer.echo(f"CPU s per million events: {_compared(few.run.cpu_per_million, grown.run.cpu_per_million)}")
    report([*bounds(few, IN_FORCE_SECONDS), *bounds(grown, _MANY_IN_FORCE_SECONDS)])


@contextmanager
def _side() -> Iterator[Side]:
    with TemporaryDirectory(prefix="hifi-configuration-") as folder:
        yield Side(root=Path(folder, "side"), port=free_base())


@contextmanager
def _chain(side: Side) -> Iterator[Bench]:
    port = destination_port()
    with hifi(side, destination_url(port)) as chain:
        yield Bench(chain, port)


def _measured(bench: Bench, load: Load) -> UnderLoad:
    """Send a load, and change a pipe again and again while it runs."""
    with ThreadPoolExecutor(1) as pool, api_at(None, bench.chain.side.root) as api:
        sending = pool.submit(bench.run, load)
        found = list(changes(api, lambda: not sending.done(), _SEED))
        return UnderLoad(
            run=sending.result(),
            changes=found,
            megabytes=resident(bench.chain.roots),
            ready_seconds=bench.chain.ready_seconds,
        )


def bounds(found: UnderLoad, most: float) -> list[Bound]:
    """Bounds on what was lost, and on p95 of the changes in seconds."""
    seconds = sorted(each.in_force for each in found.changes)
    p95 = percentile(seconds, 95) if seconds else None
    return [
        Bound(what="lost", figure=found.run.lost, most=0, unit="events"),
        Bound(what="p95 of a change until it is in force", figure=p95, most=most, unit="s"),
    ]


def _line(name: str, found: UnderLoad) -> str:
    lag = f"{found.run.lag.p95:.0f} ms" if found.run.lag else "nothing"
    return (
        f"{name}ready after {found.ready_seconds:.0f} s; {in_words(found.changes)}; "
        f"events' p95 {lag}, {chain_cpu(found.run.cpu_per_million):.0f} CPU s per million"
    )


def _compared(before: Mapping[str, float], after: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {before.get(name, 0):.0f} -> {value:.0f}" for name, value in after.items())


if __name__ == "__main__":
    run_command(APP)
